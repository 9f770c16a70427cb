// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace fiber::backends::slurm {

/// The folder of a session, on a file system that it shares with its jobs. Only the user
/// can read it. Its file "alive" is touched while the driver lives, so that another
/// driver, maybe on another computer, can tell a folder that was left behind.
class SessionFolder {
public:
  /// Makes the folder in `base`, which is made if necessary. `lease`: how long after the
  /// driver's death its jobs may live. Throws EngineError.
  SessionFolder(const std::string& base, std::string session, std::chrono::seconds lease);
  SessionFolder(const SessionFolder&) = delete;
  SessionFolder& operator=(const SessionFolder&) = delete;

  const std::string& path() const { return path_; }
  const std::string& session() const { return session_; }
  /// Says that the driver lives.
  void touch() const;
  /// Makes a folder within, mode 0700. Throws EngineError.
  std::string add(const std::string& name) const;
  /// Removes all of it.
  void remove() const;

private:
  std::string session_, path_;
};

/// The file that says that a session's driver lives.
inline constexpr auto alive_file = "alive";

/// Identifies a session's driver, so that others can remove its jobs after its death.
struct DriverNote {
  std::string host, pid;
  std::string job; ///< The Slurm job that it is in; empty if it is in none.
  std::string program;
};

/// Returns the note for this process.
DriverNote own_note();
/// Writes the note into a session's folder. Throws EngineError.
void write_driver_note(const SessionFolder& folder, const DriverNote& note);
/// Reads the note in a folder; nothing if there is none.
std::optional<DriverNote> read_driver_note(const std::string& folder);

/// Returns where sessions have their folders if no setting says it: ~/.cache/fiber/slurm.
/// Throws EngineError if there is no home directory.
std::string usual_base();

/// Writes a new file of mode 0600, or 0700 for a `program`. Throws EngineError.
void write_private(const std::string& path, std::string_view text);

/// Returns whether a file exists, by opening it: the answer of stat() may be some seconds
/// old on a network file system.
bool file_exists(const std::string& path);

} // namespace fiber::backends::slurm
