// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <numeric>
#include <string>
#include <utility>

#include "fiber/error.hpp"
#include "rl/vec/loss_guard.hpp"
#include "rl/vec/meeting.hpp"
#include "rl/vec/workers.hpp"

namespace fiber::rl::vec {
namespace {

/// Each job is in one call, EnvHost::serve(), and finds its orders in the memory. The end
/// of that call is how the loss of a job is noticed.
class WorkInSharedMemory final : public Workers {
public:
  WorkInSharedMemory(Desk desk, detail::EnvHosts& hosts,
                     std::vector<detail::HostPlan> plans)
    : desk_(desk), hosts_(hosts), plans_(std::move(plans)), guard_(desk, hosts, plans_),
      asked_(desk.options.envs), called_(plans_.size()) {
    for (const auto& plan : plans_)
      job_of_.insert(job_of_.end(), static_cast<std::size_t>(plan.count),
                     static_cast<std::size_t>(plan.job));
    auto& meeting = desk_.rows.meeting();
    meeting.every_row = desk_.options.batch < desk_.options.envs;
    meeting.spin_ns = 50'000; // Longer than it takes to wake up a core.
    for (std::size_t job = 0; job < plans_.size(); ++job)
      serving_.push_back(hosts_.serve(job, desk_.rows.place(), {}));
  }
  ~WorkInSharedMemory() override { tell_to_leave(); }

  void post(std::span<const int> ids) override {
    for (const int id : ids) {
      const auto row = static_cast<std::size_t>(id);
      desk_.rows.cell(row).asked.store(++asked_[row], std::memory_order_release);
      called_[job_of_[row]] = 1;
      orders_.push_back(id);
    }
    jobs_.clear();
    for (std::size_t job = 0; job < called_.size(); ++job)
      if (std::exchange(called_[job], 0) != 0)
        jobs_.push_back(job);
    vec::post(desk_.rows, jobs_);
  }

  void collect(std::size_t need, std::vector<int>& ready) override {
    const auto enough = ready.size() + need;
    auto& meeting = desk_.rows.meeting();
    for (;;) {
      const auto seen = meeting.published.load(std::memory_order_acquire);
      take_published(ready);
      if (ready.size() >= enough)
        return;
      if (Clock::now() >= next_look_)
        look_after_jobs(ready);
      else
        await_rows(desk_.rows, seen, enough - ready.size(), between_looks);
    }
  }

  void restore() override {
    tell_to_leave();
    for (auto& serving : serving_)
      try {
        serving.get();
      } catch (const WorkerLost&) {
        // The one that replaces it is told all the same.
      }
    desk_.rows.meeting().leave.store(0);
    for (std::size_t job = 0; job < plans_.size(); ++job)
      serve(job, [](int) { return true; });
  }

  bool shares_memory() const override { return true; }

private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds between_looks{10};

  void tell_to_leave() {
    desk_.rows.meeting().leave.store(1);
    jobs_.resize(plans_.size());
    std::iota(jobs_.begin(), jobs_.end(), 0U);
    vec::post(desk_.rows, jobs_);
  }

  /// Calls serve() with the histories of the environments that `retraces` chooses.
  template <class Retraces>
  void serve(std::size_t job, Retraces retraces) {
    const auto& plan = plans_[job];
    std::vector<detail::History> histories;
    for (int id = plan.first; id < plan.first + plan.count; ++id)
      if (retraces(id))
        histories.push_back(desk_.book.history(id));
    serving_[job] = hosts_.serve(job, desk_.rows.place(), std::move(histories));
  }

  /// Takes the rows that are published, of those that were ordered.
  void take_published(std::vector<int>& ready) {
    std::erase_if(orders_, [&](int id) {
      const auto row = static_cast<std::size_t>(id);
      auto& cell = desk_.rows.cell(row);
      if (cell.answered.load(std::memory_order_acquire) != asked_[row])
        return false;
      desk_.book.accept(id);
      if (desk_.book.valid[row] != 0)
        guard_.gave_row(id);
      guard_.answered(job_of_[row]);
      ready.push_back(id);
      return true;
    });
  }

  void look_after_jobs(std::vector<int>& ready) {
    next_look_ = Clock::now() + between_looks;
    for (std::size_t job = 0; job < plans_.size(); ++job)
      if (serving_[job].ready())
        replace(job, ready);
    guard_.check_starts();
  }

  void replace(std::size_t job, std::vector<int>& ready) {
    const auto name = "job " + std::to_string(job) + " of a VecEnv";
    try {
      throw Error(name + (serving_[job].get() ? " has left its environments"
                                              : " can't reach the memory of the rows"));
    } catch (const WorkerLost& lost) {
      take_published(ready); // Its last rows belong to the histories.
      std::vector<int> orders;
      for (const int id : orders_)
        if (job_of_[static_cast<std::size_t>(id)] == job)
          orders.push_back(id);
      guard_.lost(job, orders, lost.what());
    }
    serve(job, [this](int id) { return desk_.book.retraces(id); });
  }

  Desk desk_;
  detail::EnvHosts& hosts_;
  const std::vector<detail::HostPlan> plans_;
  LossGuard guard_;
  std::vector<std::size_t> job_of_;
  std::vector<std::uint32_t> asked_; ///< By environment: how many orders it had.
  std::vector<char> called_;         ///< By job: within post().
  std::vector<std::size_t> jobs_;    ///< Those that are posted to.
  std::vector<int> orders_;          ///< Those not answered, in the order of the posts.
  std::vector<Future<bool>> serving_;
  Clock::time_point next_look_ = Clock::now() + between_looks;
};

} // namespace

std::unique_ptr<Workers> work_in_shared_memory(Desk desk, detail::EnvHosts& hosts,
                                               std::vector<detail::HostPlan> plans) {
  return std::make_unique<WorkInSharedMemory>(desk, hosts, std::move(plans));
}

} // namespace fiber::rl::vec
