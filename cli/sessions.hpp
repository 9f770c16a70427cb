// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/unique_fd.hpp"
#include "cli/engines/drivers.hpp"
#include "cli/engines/process_end.hpp"
#include "cli/session_name.hpp"
#include "libfiber/observer/socket_folder.hpp"

namespace fiber::cli {

using Clock = std::chrono::steady_clock;

/// Time in which a session must answer; it takes a second itself if its pools are busy.
inline constexpr std::chrono::milliseconds answer_limit{2000};

/// A session that listens, with an open connection to it, or whose driver runs on an
/// engine.
struct Session {
  std::string name;
  pid_t pid = 0; ///< Of the driver; as the kernel says, not the file.
  std::string path = {};
  UniqueFd socket = {};
  bool stopped = false; ///< The driver is stopped (SIGSTOP, ^Z) and can't answer.
  /// It runs there; then it has no pid, path and socket.
  std::optional<RemoteDriver> remote = {};
};

/// Returns what chooses among sessions of one name: the pid, or the id on the engine.
std::string number_of(const Session& session);
/// Returns "train (pid 4711)" or "train (container 4f2a13c0 on docker)".
std::string title_of(const Session& session);
/// Returns the same as members of an object: "name", and "pid" or "place" and "backend".
nlohmann::json json_title(const Session& session);

/// Returns the id of a session on its engine, from its snapshot; empty if it has none.
std::string id_of(const nlohmann::json& snapshot);

/// Returns all sessions of this user on this machine, by name and pid. Removes the
/// sockets of those that have ended without doing so.
std::vector<Session> all_sessions();

/// Returns the process of the session's driver; nothing if there is none here, as for a
/// session in another container, although another process may have its pid.
std::optional<Process> driver_of(const Session& session);

/// Returns whether a session listens at the socket of this path.
bool listens_at(const std::string& path);

/// Returns the session that is called so, see called(). Those of this machine are looked
/// at first, then those on engines. Throws Error, with the names or numbers that there
/// are, if there is none or more than one.
Session find_session(const std::string& name, NameMatch match = NameMatch::beginning);

/// Sends each session of this machine the same request, all at once. Returns their
/// replies, in the same order; nothing for one that does not answer in time.
std::vector<std::optional<nlohmann::json>>
ask_all(const std::vector<Session>& sessions, const nlohmann::json& request,
        std::chrono::milliseconds limit = answer_limit);

/// Asks one session, over a new connection if it has closed the old one. Throws Error if
/// it does not answer in time, has ended, or refuses.
nlohmann::json ask(Session& session, const nlohmann::json& request,
                   std::chrono::milliseconds limit = answer_limit);

/// Returns whether the session has not closed its socket, or its driver has not ended.
bool is_alive(const Session& session);
/// Waits until it has. Returns false if `limit` passed first.
bool await_closed(const Session& session, std::chrono::milliseconds limit);

/// The help of the argument NAME of a verb.
inline constexpr auto name_help =
  "The session: its name, or the first letters of it; see `fiber ps`";

/// Prints a snapshot of the session as text, then the address of its live page, with the
/// token, if it has one.
void print_session(Session& session, const nlohmann::json& snapshot, std::size_t columns);

} // namespace fiber::cli
