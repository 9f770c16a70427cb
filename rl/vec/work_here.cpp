// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <string>

#include "rl/vec/lanes.hpp"
#include "rl/vec/workers.hpp"

namespace fiber::rl::vec {
namespace {

class WorkHere final : public Workers {
public:
  WorkHere(Desk desk, const detail::MakeEnvironment& make)
    : desk_(desk),
      lanes_(make, 0, static_cast<int>(desk.options.envs), desk.options.autoreset) {}

  void post(std::span<const int> ids) override {
    orders_.insert(orders_.end(), ids.begin(), ids.end());
  }

  void collect(std::size_t need, std::vector<int>& ready) override {
    for (; need > 0; --need) {
      const auto id = orders_.front();
      orders_.pop_front();
      follow(id);
      ready.push_back(id);
    }
  }

  void restore() override {
    for (int id = 0; id < lanes_.count(); ++id)
      lanes_.replay(desk_.book.history(id));
  }

private:
  void follow(int id) {
    const auto row = static_cast<std::size_t>(id);
    auto& rows = desk_.rows;
    std::string error;
    auto& facts = rows.cell(row).facts;
    facts = lanes_.follow(
      desk_.book.pending(id), desk_.book.sent(id),
      {rows.observation(row), rows.final_observation(row), rows.mask(row), error});
    if (facts.failed != 0)
      rows.set_error(row, error);
    desk_.book.accept(id);
  }

  Desk desk_;
  Lanes lanes_;
  std::deque<int> orders_;
};

} // namespace

std::unique_ptr<Workers> work_here(Desk desk, const detail::MakeEnvironment& make) {
  return std::make_unique<WorkHere>(desk, make);
}

} // namespace fiber::rl::vec
