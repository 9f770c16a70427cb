// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include <nlohmann/json.hpp>
#include <sys/types.h>

#include "tests/cli/command.hpp"

namespace fiber::cli {

/// Waits until the condition is true; returns whether it was within 100 s.
bool wait_for(const std::function<bool()>& condition);

/// A driver on this machine that is killed by SIGKILL, with a folder of its own for its
/// socket and note. `fiber` looks at it without the variables that the driver has, so
/// that it knows its engine from the note alone.
class CrashedDriver {
public:
  /// Starts the tests' program under the session name "crashed" and waits until it has
  /// said `text`.
  CrashedDriver(const Words& words, const std::string& text, Variables variables);
  ~CrashedDriver();
  CrashedDriver(const CrashedDriver&) = delete;
  CrashedDriver& operator=(const CrashedDriver&) = delete;

  pid_t pid() const { return pid_; }
  void crash() const;
  Outcome fiber(const Words& words, Variables variables = {}) const;
  /// Returns what `fiber ps` shows of this driver: a list of at most one session.
  nlohmann::json ps(const Variables& variables = {}) const;
  /// Waits until it shows the session and `holds` is true of it. Returns it.
  nlohmann::json await(const std::function<bool(const nlohmann::json&)>& holds,
                       const Variables& variables = {}) const;
  /// Returns the id by which the engine knows the session.
  std::string session() const;
  /// Changes the note: the session seems to be one of another engine.
  void lead_to(const std::string& backend, const Variables& variables) const;
  /// Changes the note: its driver seems to be an earlier process of the same pid.
  void make_older() const;
  /// Writes the note of a session called `name`, with the same pid.
  void add_note(const std::string& name, const std::string& backend,
                const Variables& variables) const;
  /// Returns the files in the folder of sockets and notes.
  std::string files() const;

private:
  std::string folder() const { return folder_.path("run") + "/fiber"; }
  std::string note() const;

  TestFolder folder_;
  pid_t pid_ = 0;
};

} // namespace fiber::cli
