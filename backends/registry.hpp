// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "backends/job_entry.hpp"

namespace fiber::backends {

class StatusLines;

/// A setting of one backend.
struct BackendKey {
  std::string name;  ///< Key in .fiberconfig: "docker_network".
  std::string valid; ///< For errors: "host or the name of a network".
  bool (*accepts)(const std::string& text);
};

/// The settings from which a session makes its backend.
struct BackendOptions {
  /// Values of the BackendKeys that are set.
  std::map<std::string, std::string> values = {};
  std::string image = {};                              ///< Empty: the driver's image.
  std::map<std::string, std::string> environment = {}; ///< For jobs in containers.
  bool hide_gpus = true;      ///< A job that asks for no GPU sees none.
  bool forward_output = true; ///< Copy jobs' output to our stderr, with names.
  std::shared_ptr<StatusLines> terminal = {}; ///< Destination; null: a new one.
  std::chrono::milliseconds lease{60000};
  /// Marks what the session makes on the engine: letters and digits; empty: a random one.
  std::string session = {};

  /// Returns the value of a key, or an empty string.
  std::string value(const std::string& key) const;
};

/// A kind of backend: how a session detects, makes and enters it.
struct BackendKind {
  std::string name; ///< Value of FIBER_BACKEND: "docker".
  std::vector<BackendKey> keys;
  /// For `backend = auto`: returns why this kind should be chosen, as words for the log,
  /// or an empty string.
  std::function<std::string()> detect;
  /// Makes the backend. Throws EngineError, SettingError.
  std::function<std::unique_ptr<Backend>(const BackendOptions&)> make;
  /// Enters a job whose FIBER_NODE is "`role`" or "`role`:`rest`". Returns nothing if the
  /// role is another kind's.
  std::function<std::optional<JobEntry>(const std::string& role, const std::string& rest)>
    enter;
};

/// Returns all kinds in this build. FIBER_BACKENDS in backends/CMakeLists.txt registers
/// them: each NAME in it is a folder that defines NAME_kind().
const std::vector<BackendKind>& backend_kinds();

/// Splits a list at commas.
std::vector<std::string> parts_of(const std::string& text);
/// Splits a text at white space.
std::vector<std::string> words_of(const std::string& text);
/// Returns whether each part of a list is one of `words`.
bool are_among(const std::string& text, std::span<const char* const> words);
/// Returns whether `text` has no spaces, tabs and commas.
bool is_word(const std::string& text);

} // namespace fiber::backends
