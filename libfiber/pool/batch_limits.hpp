// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>

#include <cstddef>
#include <cstdint>

namespace fiber::detail {

/// Tells when the tasks or results that have gathered are to be handed on: when they are
/// many, or when the first of them has waited for about 2 ms.
class BatchLimits {
public:
  static bool is_full(std::size_t tasks, std::size_t bytes) {
    return tasks >= 256 || bytes >= 64 * 1024;
  }
  /// The first of a batch has come.
  void begin() { begun_ = coarse_now(); }
  bool is_late() const { return coarse_now() - begun_ > 2'000'000; }

private:
  /// The time in ns. Cheap, with a resolution of a few milliseconds.
  static std::int64_t coarse_now() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  }

  std::int64_t begun_ = 0;
};

} // namespace fiber::detail
