// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"

namespace fiber::cli {

/// A driver that `fiber run --detach` has started on an engine: cli_run_program with
/// "wait 1". The verbs of the command look at it from this machine.
class DetachedDriver {
public:
  /// `variables` lead to the engine; `hidden`: the folder of this machine's sessions is,
  /// as if the driver ran on another machine. Waits until the driver's worker is up.
  DetachedDriver(std::string name, Variables variables, bool hidden = false);

  /// Expects that `ps`, `status`, `top`, `logs` and `report` show the session, and that
  /// `trace` says why it can't. `place`: what `ps` shows in place of a pid begins so.
  void expect_seen(const std::string& backend, const std::string& place) const;
  /// Ends it by `stop` or `kill`, and expects that these say so.
  void end_by(const std::string& verb) const;
  /// Expects that no session of that name is listed.
  void expect_unlisted() const;
  /// Returns what `fiber ps` says about it; null if it is not listed.
  nlohmann::json listed() const;

private:
  Outcome fiber(const Words& words) const;

  const std::string name_;
  const Variables variables_;
  const bool hidden_;
};

} // namespace fiber::cli
