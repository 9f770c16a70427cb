// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/engines/left.hpp"
#include "libfiber/observer/session_note.hpp"

namespace fiber::cli {

/// While it lives, this process's environment leads to the engine of a session.
class EngineVariables {
public:
  explicit EngineVariables(const std::map<std::string, std::string>& variables);
  ~EngineVariables();
  EngineVariables(const EngineVariables&) = delete;
  EngineVariables& operator=(const EngineVariables&) = delete;

private:
  using Value = std::optional<std::string>;
  void set(const std::string& name, const Value& value);

  std::map<std::string, Value> before_;
};

/// Returns the tools of a session's engine. Throws Error if this build has none.
const LeftTools& tools_of(const observer::SessionNote& note);

/// What an engine says that a session has left.
struct LeftAnswer {
  std::vector<std::string> left = {}; ///< Each in a few words.
  std::string problem = {};           ///< Why it can't be asked; empty: it was.
};

/// Asks the engines of sessions what these have left, all at the same time. Waits at most
/// `patience`.
std::vector<LeftAnswer> look_up_left(const std::vector<observer::SessionNote>& notes,
                                     std::chrono::milliseconds patience);

} // namespace fiber::cli
