// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "cli/session_name.hpp"
#include "libfiber/observer/session_note.hpp"

namespace fiber::cli {

struct RemoteDriver;
struct Session;

/// A session whose driver has ended without closing it, and what it has left.
struct Crashed {
  std::string name;
  pid_t pid = 0; ///< Of the driver.
  observer::SessionNote note;
  std::string path;                   ///< Of the note.
  std::vector<std::string> left = {}; ///< Each in a few words: "container 4f2a13c0".
  std::string problem = {};           ///< Why its engine can't be asked; empty: it was.
};

/// Returns what chooses among sessions of one name.
std::string number_of(const Crashed& session);

/// Returns those of this user that have left something, or whose engine can't be asked,
/// by name and pid. Removes the notes of all others. Waits for engines at most
/// `patience`.
std::vector<Crashed> crashed_sessions(std::chrono::milliseconds patience);

/// Returns the one that is called so, see called(), or nothing. Throws Error if there are
/// several.
std::optional<Crashed> find_crashed(const std::string& name, NameMatch match);

/// The same for a whole name, but nothing if a session that lives has it.
std::optional<Crashed> crashed_if_none_lives(const std::string& name);

/// Ends and removes what the session has left. Throws Error if its engine can't be asked,
/// or if something stays.
void clean(const Crashed& session);

/// What became of the things that a session had left whose driver has just ended.
struct Cleaned {
  std::vector<std::string> removed = {};
  std::string problem = {}; ///< Why something stays or may stay.
};
/// Removes them. Throws nothing, for the caller must still report the driver's end.
Cleaned clean_after(const Session& session);
/// The same for a driver on an engine. `id` is the session's, which its snapshot has;
/// empty: nothing is known to look for.
Cleaned clean_after(const RemoteDriver& driver, const std::string& id);

/// Returns "; removed: ..." for things that were; empty if there are none.
std::string text_of_removed(const std::vector<std::string>& things);

/// Cleans up and reports it on stdout: what `stop` and `kill` do with such a session.
void clean_and_report(const Crashed& session, bool as_json);

} // namespace fiber::cli
