// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "fiber/callable.hpp"
#include "fiber/detail/results.hpp"
#include "libfiber/results/wait_point.hpp"

namespace fiber::detail {

/// The result of a single call that is no task of a pool. A subclass says how the call is
/// cancelled.
class OneResult : public Results {
public:
  explicit OneResult(std::unique_ptr<WaitPoint> point);

  /// Stores the outcome, once. `kept` are the objects that handles in it refer to.
  void set(RawOutcome outcome, KeptObjects kept = {});

  std::size_t submitted() const override { return 1; }
  std::size_t done() const override { return done_; }
  bool wait_index(std::size_t index, Clock::time_point limit) override;
  bool wait_done(std::size_t n, Clock::time_point limit) override;
  RawOutcome at(std::size_t index) const override;
  RawOutcome take(std::size_t index) override;
  // Only streams and maps call these.
  std::vector<RawOutcome> take_ready() override { return {}; }
  std::optional<std::pair<std::size_t, RawOutcome>> take_any() override { return {}; }
  void on_end(std::function<void()> f) override;
  std::unique_ptr<WaitPoint> wait_point() const override { return point_->another(); }

private:
  const std::unique_ptr<WaitPoint> point_;
  std::atomic<std::size_t> done_ = 0;
  RawOutcome outcome_;
  KeptObjects kept_;
  std::vector<std::function<void()>> on_end_;
};

} // namespace fiber::detail
