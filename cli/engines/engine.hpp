// SPDX-License-Identifier: Apache-2.0
// engines/ is what the verbs of the command need of every engine: what they ask for, and
// how they report. It includes backends/registry.hpp and the settings of
// libfiber/session/.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/engines/drivers.hpp"
#include "cli/engines/report.hpp"

namespace fiber::cli {

/// `fiber run`: a driver to start.
struct RunRequest {
  std::vector<std::string> command; ///< The program and its arguments.
  std::string backend;              ///< FIBER_BACKEND of the driver.
  /// Empty: the setting; with `build`: made from the program's name and build.
  std::string image;
  bool build = false, push = false;
  /// Shell commands that take the archive of the image from stdin.
  std::vector<std::string> imports;
  double cpu = 0;            ///< 0: no limit.
  std::size_t memory_mb = 0; ///< 0: no limit.
  int gpu = 0;
  std::vector<std::string> volumes; ///< SOURCE:TARGET[:ro]
  std::map<std::string, std::string> environment;
  std::string name;  ///< Empty: one that is free.
  std::string hosts; ///< A hostfile, or hosts as in ssh_hosts; empty: the settings.
  std::string on;    ///< The machine that runs the driver, for ssh; empty: this one.
  std::string time;  ///< The time limit, in the engine's words; empty: the engine's own.
  bool detach = false, json = false;
};

/// `fiber doctor`: an engine to check.
struct DoctorRequest {
  /// Empty: the setting, else one made for the check where that is possible.
  std::string image;
  std::string program; ///< What the image should have; empty: not compared.
  std::chrono::milliseconds deadline{60000}; ///< For a job to dial back.
};

/// `fiber cp`: a file or folder to copy to a volume or from one.
struct CopyRequest {
  bool to_volume = true;
  std::string local;        ///< The path on this machine.
  std::string volume, path; ///< The path in the volume begins with "/" and stays in it.
  /// The path in the volume is a folder, to be made if need be.
  bool into_folder = false;
  std::uint64_t limit = 0; ///< How many bytes a copy from the volume may have.
  /// On kubernetes: an image with sh and tar; empty: the engine's own choice.
  std::string image;
};

/// What the command can do on an engine.
struct EngineTools {
  std::string name; ///< The name of the backend.
  /// Returns why `fiber doctor` should check this engine unasked, or nothing.
  std::function<std::string()> detect;
  std::function<void(const DoctorRequest&, Report&)> diagnose;
  /// Starts the driver. Unless detached, returns its exit code when it has ended.
  std::function<int(const RunRequest&)> run;
  /// Copies and returns the number of bytes in the files. Null: the engine has no
  /// volumes.
  std::function<std::size_t(const CopyRequest&)> copy;
  /// Pushes an image, given its archive, to the registry in its name. Null: the engine
  /// can't.
  std::function<void(const std::string& name, std::string archive)> push = nullptr;
  /// Null: drivers run on this machine, where their sessions listen.
  const DriverTools* drivers = nullptr;
};

/// Returns the engines in this build. cli/CMakeLists.txt registers them: each is a folder
/// that defines NAME_tools().
const std::vector<EngineTools>& engine_tools();

/// Returns the engine of a backend's name. Throws Error if there is none.
const EngineTools& engine_called(const std::string& name);

/// Throws Error if the request has an option that only engines with containers have.
void refuse_container_options(const RunRequest& request);

/// Returns the setting `backend`, which may be "auto".
std::string backend_setting();

/// Returns the backend that the settings choose: never "auto".
std::string chosen_backend();

/// Returns the FIBER_* variables of the settings that a driver keeps when it runs
/// elsewhere. Settings on how this machine reaches engines and files are left out.
std::map<std::string, std::string> carried_settings();

} // namespace fiber::cli
