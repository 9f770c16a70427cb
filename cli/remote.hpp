// SPDX-License-Identifier: Apache-2.0
// Sessions whose drivers run on engines: in containers, pods and jobs of Slurm.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/engines/drivers.hpp"
#include "cli/helper_process.hpp"

namespace fiber::cli {

/// In which an engine must have listed its drivers, and then one driver's session must
/// have answered: the engine starts a process beside it.
inline constexpr std::chrono::milliseconds list_limit{2000}, relay_limit{6000};

/// A driver on an engine, and what its session answered.
struct RemoteSession {
  RemoteDriver driver;
  std::optional<nlohmann::json>
    snapshot; ///< Nothing: it was not asked, or did not answer.
};

/// An engine that could not be asked.
struct SilentEngine {
  std::string name, problem;
  bool hangs() const; ///< It did not answer in time.
};

struct RemoteSessions {
  std::vector<RemoteSession> sessions; ///< By name.
  std::vector<SilentEngine> silent;
};

/// Looks for drivers on all engines that are detected here, while the caller does other
/// things.
class RemoteLookup {
public:
  /// What to look for.
  enum class Kind {
    running,   ///< Drivers that run.
    snapshots, ///< The same, and a snapshot of the session of each.
    ended_too  ///< Also drivers that have ended.
  };
  RemoteLookup(Kind kind, std::chrono::milliseconds list_limit);
  /// Waits for the engines.
  RemoteSessions read();

private:
  struct Question {
    std::string engine;
    HelperProcess helper;
  };
  std::vector<Question> questions_;
  std::chrono::milliseconds patience_;
};

/// Sends a session a request, through a relay beside its driver (observer/relay.hpp).
/// Returns its reply; {"problem": ...} if there is none.
nlohmann::json ask_remote(const RemoteDriver& driver, const nlohmann::json& request,
                          std::chrono::milliseconds limit);

/// Returns what the driver has printed so far. Throws Error.
std::string output_of_driver(const RemoteDriver& driver);

/// Returns whether the driver has ended. An engine that can't be asked counts as no.
bool driver_has_ended(const RemoteDriver& driver);
/// Waits until it has. Returns false if `limit` passed first.
bool await_end(const RemoteDriver& driver, std::chrono::milliseconds limit);
/// Ends the driver at once. Throws Error.
void kill_driver(const RemoteDriver& driver);

} // namespace fiber::cli
