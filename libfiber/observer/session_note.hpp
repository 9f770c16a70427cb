// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace fiber::observer {

/// Variables that lead to engines without being settings of Fiber.
inline constexpr const char* engine_variables[] = {
  "DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH",
  "KUBECONFIG",  "SLURM_CONF",        "XDG_CACHE_HOME"};

/// What a driver notes for the case that it is killed: how others find what its session
/// leaves on its engine.
struct SessionNote {
  std::string name;
  pid_t pid = 0;
  std::uint64_t process_started = 0; ///< As ProcessStat::started.
  std::string id;                    ///< The engine knows the session's objects by it.
  std::string backend, program;
  std::string started; ///< UTC, "2026-01-31T12:00:00Z".
  /// The variables that lead to the engine: "DOCKER_HOST", "FIBER_KUBERNETES_CONTEXT".
  std::map<std::string, std::string> variables;
};

/// Returns the note of this process, with a new id and the variables of its environment
/// that lead to engines.
SessionNote own_note(const std::string& name);

/// The file of a note, NAME.PID.json beside the session's socket, mode 0600. It is
/// removed at the end of the session, but not by a driver that is killed.
class NoteFile {
public:
  /// Throws std::runtime_error with the reason.
  NoteFile(const std::string& folder, const SessionNote& note);
  ~NoteFile();
  NoteFile(const NoteFile&) = delete;
  NoteFile& operator=(const NoteFile&) = delete;

private:
  std::string path_;
};

/// Returns the path of the note beside a session's socket.
std::string note_beside(const std::string& socket);
/// Returns nothing if there is no note at this path, or none of a session's.
std::optional<SessionNote> read_note(const std::string& path);

/// A note whose driver has ended without removing it.
struct LeftNote {
  SessionNote note;
  std::string path;
};
/// Returns those in a folder.
std::vector<LeftNote> left_notes(const std::string& folder);

} // namespace fiber::observer
