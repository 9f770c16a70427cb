// SPDX-License-Identifier: Apache-2.0
#include "libfiber/ring/ring_part.hpp"

#include <algorithm>
#include <optional>

namespace fiber::detail {

using nlohmann::json;

bool RingPart::gone() const {
  auto end = end_.lock();
  return !end || end->is_set();
}

observer::Part::Answer RingPart::look() {
  auto progress = progress_.lock();
  if (!progress)
    return nullptr;
  json entry{{"name", name_},
             {"members", size_},
             {"members_running", progress->running.load()},
             {"attempt", progress->attempt.load()},
             {"restarts", std::max(0, progress->attempt.load() - 1)},
             {"collectives", progress->collectives.load()}};
  if (max_restarts_ >= 0)
    entry["max_restarts"] = max_restarts_;
  return [entry = std::move(entry)](observer::Clock::time_point) -> std::optional<json> {
    return entry;
  };
}

} // namespace fiber::detail
