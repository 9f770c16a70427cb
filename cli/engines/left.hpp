// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace fiber::cli {

/// What one session has left on an engine because its driver was killed.
struct Left {
  /// Returns what there is, each in a few words: "container 4f2a13c0". Throws Error.
  std::function<std::vector<std::string>()> list;
  /// Asks the engine to end and remove it; `again`: not for the first time. Returns why
  /// the engine refuses for now, if it does. Throws Error if it refuses for good.
  std::function<std::string(bool again)> remove;
  std::chrono::milliseconds end_limit;      ///< In which it must be gone.
  std::chrono::milliseconds ask_again = {}; ///< After this time, if it is not gone.
};

/// Removes what is left and waits until it is gone. Returns what stays. Throws Error as
/// the functions of `left` do, and if the engine still refuses at the end.
std::vector<std::string> remove_left(const Left& left);

struct LeftTools {
  std::string engine; ///< The name of the backend.
  /// `session` is the id of a session, by which the engine's objects are marked
  /// (observer/session_note.hpp). Throws Error if the engine can't be reached.
  Left (*look)(const std::string& session);
};

/// Returns those of this build. cli/CMakeLists.txt registers them: each engine's folder
/// defines NAME::left_of().
const std::vector<LeftTools>& left_tools();

} // namespace fiber::cli
