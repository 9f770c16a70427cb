// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include <nlohmann/json.hpp>

namespace fiber::observer {

using Clock = std::chrono::steady_clock;

/// A part of a session that its observers see, for example a pool. It must not keep alive
/// what it shows.
class Part {
public:
  /// Waits for what look() has asked for. Returns nothing if `limit` passes first or the
  /// part has ended.
  using Answer = std::function<std::optional<nlohmann::json>(Clock::time_point limit)>;

  virtual ~Part() = default;
  /// The list of the snapshot that it is shown in: "pools", "queues", "supervisors".
  virtual const char* list() const = 0;
  /// Returns whether it has ended, without waiting.
  virtual bool gone() const = 0;
  /// Asks for the entry in the list without waiting for it. May return null.
  virtual Answer look() = 0;
};

} // namespace fiber::observer
