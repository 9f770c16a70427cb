// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace fiber::cli {

/// What sessions leave on an engine if their drivers are killed. `session` is the id of a
/// session, by which the engine's objects are marked (observer/session_note.hpp).
struct LeftTools {
  std::string engine; ///< The name of the backend.
  /// Returns what there is, each in a few words: "container 4f2a13c0". Throws Error.
  std::function<std::vector<std::string>(const std::string& session)> find;
  /// Ends and removes it. Throws Error if it can't.
  std::function<void(const std::string& session)> remove;
};

/// Returns those of this build. cli/CMakeLists.txt registers them: each engine's folder
/// defines NAME_left().
const std::vector<LeftTools>& left_tools();

} // namespace fiber::cli
