// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <nlohmann/json.hpp>

namespace fiber::cli {

/// The sums over all pools of a snapshot.
struct Totals {
  std::uint64_t workers_up = 0, workers_wanted = 0;
  std::uint64_t done = 0, failed = 0;
};

inline Totals totals_of(const nlohmann::json& snapshot) {
  Totals totals;
  auto pools = snapshot.find("pools");
  if (pools == snapshot.end() || !pools->is_array())
    return totals;
  for (auto& pool : *pools) {
    auto number = [&](const char* key) { return pool.value(key, std::uint64_t{0}); };
    totals.workers_up += number("workers_up");
    totals.workers_wanted += number("workers_wanted");
    totals.done += number("done");
    totals.failed += number("failed");
  }
  return totals;
}

} // namespace fiber::cli
