// SPDX-License-Identifier: Apache-2.0
#include "fiber/future.hpp"

#include <memory>
#include <utility>

#include "libfiber/results/one_result.hpp"
#include "libfiber/session/runtime.hpp"

namespace fiber::detail {
namespace {

class ContinuedResult final : public OneResult {
public:
  explicit ContinuedResult(std::shared_ptr<Results> before)
    : OneResult(before->wait_point()), before_(std::move(before)) {}

  void cancel() override { before_->cancel(); }

private:
  const std::shared_ptr<Results> before_;
};

} // namespace

std::shared_ptr<Results> continue_with(const std::shared_ptr<Results>& before,
                                       std::function<Continued(const RawOutcome&)> f) {
  auto after = std::make_shared<ContinuedResult>(before);
  std::weak_ptr<Runtime> session = Runtime::require();
  before->on_end([before, after, session, f = std::move(f)] {
    auto outcome = before->at(0);
    if (outcome.error)
      return after->set(std::move(outcome));
    auto runtime = session.lock();
    auto call = [after, outcome, f] {
      auto continued = f(outcome);
      after->set(std::move(continued.outcome), std::move(continued.kept));
    };
    if (!runtime || !runtime->run_later(std::move(call)))
      after->set({{}, std::make_exception_ptr(Closed("the session has ended"))});
  });
  return after;
}

} // namespace fiber::detail
