// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "backends/job_entry.hpp"

namespace fiber::backends {

class StatusLines;

/// A setting that one backend has and others have not.
struct BackendKey {
  std::string name;  ///< As in .fiberconfig: "docker_network".
  std::string valid; ///< For errors: "host or the name of a network".
  bool (*accepts)(const std::string& text);
};

/// What a session makes its backend from.
struct BackendOptions {
  std::map<std::string, std::string> values = {}; ///< Of the BackendKeys that are set.
  std::string image = {};                         ///< Empty: that of the driver.
  std::map<std::string, std::string> environment = {}; ///< For jobs in containers.
  bool forward_output = true; ///< Show what jobs write on our stderr, with their names.
  std::shared_ptr<StatusLines> terminal = {}; ///< Where to; null: one of its own.
  std::chrono::milliseconds lease{60000};

  /// The value of a key; empty if it is not set.
  std::string value(const std::string& key) const;
};

/// A kind of backend: how a session finds, makes and enters it.
struct BackendKind {
  std::string name; ///< As in FIBER_BACKEND: "docker".
  std::vector<BackendKey> keys;
  /// For `backend = auto`: why jobs should run here, as this process does, in words for
  /// the log; empty if nothing speaks for it.
  std::function<std::string()> detect;
  /// Throws EngineError, SettingError.
  std::function<std::unique_ptr<Backend>(const BackendOptions&)> make;
  /// In a job: the start of one whose FIBER_NODE is "`role`" or "`role`:`rest`"; nothing
  /// if another kind's jobs have that role.
  std::function<std::optional<JobEntry>(const std::string& role, const std::string& rest)>
    enter;
};

/// All kinds that this build has. The list FIBER_BACKENDS in backends/CMakeLists.txt
/// registers them: each NAME in it is a folder that defines NAME_kind().
const std::vector<BackendKind>& backend_kinds();

/// Whether `text` is one word: no spaces, no commas.
bool is_word(const std::string& text);

} // namespace fiber::backends
