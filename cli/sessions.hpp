// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/unique_fd.hpp"
#include "cli/engines/process_end.hpp"
#include "libfiber/observer/socket_folder.hpp"

namespace fiber::cli {

using Clock = std::chrono::steady_clock;

/// Time in which a session must answer; it takes a second itself if its pools are busy.
inline constexpr std::chrono::milliseconds answer_limit{2000};

/// A session that listens, with an open connection to it.
struct Session {
  std::string name;
  pid_t pid = 0; ///< Of the driver; as the kernel says, not the file.
  std::string path;
  UniqueFd socket;
  bool stopped = false; ///< The driver is stopped (SIGSTOP, ^Z) and can't answer.
};

/// Returns all sessions of this user on this machine, by name and pid. Removes the
/// sockets of those that have ended without doing so.
std::vector<Session> all_sessions();

/// Returns the process of the session's driver; nothing if there is none here, as for a
/// session in another container, although another process may have its pid.
std::optional<Process> driver_of(const Session& session);

/// Returns whether a session listens at the socket of this path.
bool listens_at(const std::string& path);

/// Returns the session of that name, or the only one whose name begins so. Throws Error,
/// with the names or pids that there are, if there is none or more than one. A pid after
/// a colon chooses among sessions of one name: "train:4711".
Session find_session(const std::string& name);

/// Sends each session the same request, all at once. Returns their replies, in the same
/// order; nothing for one that does not answer in time.
std::vector<std::optional<nlohmann::json>>
ask_all(const std::vector<Session>& sessions, const nlohmann::json& request,
        std::chrono::milliseconds limit = answer_limit);

/// Asks one session, over a new connection if it has closed the old one. Throws Error if
/// it does not answer in time, has ended, or refuses.
nlohmann::json ask(Session& session, const nlohmann::json& request,
                   std::chrono::milliseconds limit = answer_limit);

/// Returns whether the session has not closed its socket.
bool is_alive(const Session& session);
/// Waits until it has. Returns false if `limit` passed first.
bool await_closed(const Session& session, std::chrono::milliseconds limit);

/// The help of the argument NAME of a verb.
inline constexpr auto name_help =
  "The session: its name, or the first letters of it; see `fiber ps`";

} // namespace fiber::cli
