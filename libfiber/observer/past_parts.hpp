// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <nlohmann/json.hpp>

namespace fiber::observer {

/// The parts of one list of a session as they were seen last, so that those that have
/// ended can still be shown. Memory is bounded: the last `most` that have ended are kept.
class PastParts {
public:
  static constexpr std::size_t most = 200;

  /// Remembers the entries of `list`, and adds those that have ended since they were
  /// seen, with "ended": true, and as `end` changes them.
  void keep(nlohmann::json& list, const std::function<void(nlohmann::json&)>& end);
  /// Returns how many that have ended are not kept any more.
  std::uint64_t forgotten() const { return forgotten_; }

private:
  std::vector<nlohmann::json> known_;
  std::uint64_t forgotten_ = 0;
};

} // namespace fiber::observer
