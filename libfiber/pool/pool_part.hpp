// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "libfiber/observer/part.hpp"
#include "libfiber/pool/pool_core.hpp"

namespace fiber::detail {

/// A pool as the observers of its session see it.
class PoolPart final : public observer::Part {
public:
  explicit PoolPart(std::weak_ptr<PoolCore> pool) : pool_(std::move(pool)) {}

  const char* list() const override { return "pools"; }
  bool gone() const override { return pool_.expired(); }
  Answer look() override;

private:
  /// Returns how many tasks ended per second since the last call, if that was a short
  /// time ago, else since the pool was made.
  double rate(std::size_t ended);

  const std::weak_ptr<PoolCore> pool_;
  const observer::Clock::time_point made_ = observer::Clock::now();
  std::mutex mutex_; ///< Guards what follows.
  observer::Clock::time_point seen_at_ = made_;
  std::size_t seen_ = 0;
  double rate_ = 0;
};

} // namespace fiber::detail
