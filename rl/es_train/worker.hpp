// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>

namespace fiber::rl::es_train {

/// The process that computed a result.
struct Worker {
  int pid = 0;
  /// The computer and PID namespace in which it has this pid, as a number.
  std::uint64_t place = 0;

  friend auto operator<=>(const Worker&, const Worker&) = default;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& pid& place;
  }
};

/// The calling process.
Worker this_worker();

} // namespace fiber::rl::es_train
