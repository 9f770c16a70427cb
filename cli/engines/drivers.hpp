// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace fiber::cli {

/// A driver that `fiber run` has started on an engine.
struct RemoteDriver {
  std::string engine;  ///< The name of the backend.
  std::string name;    ///< Of the container, pod or job of Slurm.
  std::string id;      ///< By which the engine knows it.
  std::string place;   ///< For people: "container 4f2a13c0", "pod", "job 12".
  std::string program; ///< Or the image that has it.
  bool ended = false;  ///< Its output is still there.
};

/// How to reach the drivers on an engine. Each function throws Error if the engine can't
/// be reached or refuses.
struct DriverTools {
  using Arguments = std::vector<std::string>;
  /// Returns the drivers of this user that run; `ended_too`: and those that have ended,
  /// if the engine still knows them. The latest are the last.
  std::vector<RemoteDriver> (*list)(bool ended_too);
  /// Returns what the driver has printed.
  std::string (*output)(const RemoteDriver& driver);
  /// Runs the driver's program once more beside the driver, with these arguments. Returns
  /// what it printed. Throws Error if its exit code is not 0.
  std::string (*run_beside)(const RemoteDriver& driver, const Arguments& arguments);
  bool (*has_ended)(const RemoteDriver& driver);
  /// Ends the driver at once. Removes what only the driver's name leads to.
  void (*kill)(const RemoteDriver& driver);
};

} // namespace fiber::cli
