// SPDX-License-Identifier: Apache-2.0
#include "fiber/future.hpp"

#include <atomic>
#include <mutex>
#include <utility>

#include "libfiber/results/wait_point.hpp"
#include "libfiber/session/runtime.hpp"

namespace fiber::detail {
namespace {

/// The single result of a continuation.
class ContinuedResults final : public Results {
public:
  explicit ContinuedResults(std::shared_ptr<Results> before)
    : before_(std::move(before)), point_(before_->wait_point()) {}

  void set(Continued continued) {
    std::unique_lock lock(point_->mutex());
    continued_ = std::move(continued);
    done_ = 1;
    auto ended = std::exchange(on_end_, {});
    point_->wake();
    lock.unlock();
    for (auto& f : ended)
      f();
  }

  std::size_t submitted() const override { return 1; }
  std::size_t done() const override { return done_; }
  bool wait_index(std::size_t, Clock::time_point limit) override {
    return point_->wait([this] { return done_ > 0; }, limit);
  }
  bool wait_done(std::size_t, Clock::time_point limit) override {
    return wait_index(0, limit);
  }
  RawOutcome at(std::size_t) const override {
    std::lock_guard lock(point_->mutex());
    return continued_.outcome;
  }
  RawOutcome take(std::size_t index) override {
    wait_index(index, forever);
    return at(index);
  }
  // Only streams and maps call these.
  std::vector<RawOutcome> take_ready() override { return {}; }
  std::optional<std::pair<std::size_t, RawOutcome>> take_any() override { return {}; }
  void cancel() override { before_->cancel(); }
  void on_end(std::function<void()> f) override {
    std::unique_lock lock(point_->mutex());
    if (done_ == 0) {
      on_end_.push_back(std::move(f));
      return;
    }
    lock.unlock();
    f();
  }
  std::unique_ptr<WaitPoint> wait_point() const override { return point_->another(); }

private:
  const std::shared_ptr<Results> before_;
  const std::unique_ptr<WaitPoint> point_;
  std::atomic<std::size_t> done_{0};
  Continued continued_;
  std::vector<std::function<void()>> on_end_;
};

} // namespace

std::shared_ptr<Results> continue_with(const std::shared_ptr<Results>& before,
                                       std::function<Continued(const RawOutcome&)> f) {
  auto after = std::make_shared<ContinuedResults>(before);
  std::weak_ptr<Runtime> session = Runtime::require();
  before->on_end([before, after, session, f = std::move(f)] {
    auto outcome = before->at(0);
    if (outcome.error)
      return after->set({std::move(outcome), {}});
    auto runtime = session.lock();
    if (!runtime || !runtime->run_later([after, outcome, f] { after->set(f(outcome)); }))
      after->set({{{}, std::make_exception_ptr(Closed("the session has ended"))}, {}});
  });
  return after;
}

} // namespace fiber::detail
