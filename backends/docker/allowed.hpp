// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace fiber::backends::docker {

/// What containers may have beyond the defaults, and what else must be asked for: the
/// words of the setting docker_allow.
using Allowed = std::set<std::string, std::less<>>;

inline constexpr auto writable_root = "writable_root";
inline constexpr auto capabilities = "capabilities";
inline constexpr auto new_privileges = "new_privileges";
inline constexpr auto processes = "processes";
inline constexpr auto driver_volumes = "driver_volumes";
inline constexpr auto plaintext = "plaintext";
inline constexpr const char* allowed_words[] = {
  writable_root, capabilities, new_privileges, processes, driver_volumes, plaintext};

/// Returns which setting may help a job that ended with this output, or whose container
/// the engine refused in these words; empty if none.
std::string advice(std::string_view text, const Allowed& allowed);

} // namespace fiber::backends::docker
