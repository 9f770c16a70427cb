// SPDX-License-Identifier: Apache-2.0
#include "cli/crashed.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <iostream>
#include <tuple>
#include <utility>

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cli/engines/left.hpp"
#include "cli/left_lookup.hpp"
#include "cli/sessions.hpp"
#include "fiber/error.hpp"
#include "libfiber/observer/socket_folder.hpp"

namespace fiber::cli {
namespace {

/// For commands that remove what is left. A command of Slurm's may take 20 s.
constexpr std::chrono::milliseconds long_patience{30000};

std::string socket_beside(const std::string& note) {
  return std::filesystem::path(note).replace_extension(".sock").string();
}

/// Removes the note and the socket beside it.
void forget(const std::string& path) {
  ::unlink(path.c_str());
  ::unlink(socket_beside(path).c_str());
}

std::string list_of(const std::vector<std::string>& things) {
  std::string list;
  for (auto& thing : things)
    list += (list.empty() ? "" : ", ") + thing;
  return list;
}

/// Returns those of this user by their notes alone: some may have left nothing.
std::vector<Crashed> noted_sessions() {
  std::vector<Crashed> all;
  for (auto& folder : observer::socket_folders()) {
    if (!observer::folder_problem(folder).empty())
      continue; // all_sessions() says what is wrong.
    for (auto& [note, path] : observer::left_notes(folder))
      if (!listens_at(socket_beside(path))) // Else it lives, in a container of its own.
        all.push_back({.name = note.name, .pid = note.pid, .note = note, .path = path});
  }
  return all;
}

/// Asks their engines what they have left. Removes the notes of those that have left
/// nothing, and returns the others.
std::vector<Crashed> that_left(std::vector<Crashed> sessions,
                               std::chrono::milliseconds patience) {
  std::vector<observer::SessionNote> notes;
  for (auto& session : sessions)
    notes.push_back(session.note);
  auto answers = look_up_left(notes, patience);
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    sessions[i].left = std::move(answers[i].left);
    sessions[i].problem = std::move(answers[i].problem);
  }
  std::erase_if(sessions, [](auto& session) {
    const bool nothing = session.left.empty() && session.problem.empty();
    if (nothing)
      forget(session.path);
    return nothing;
  });
  std::ranges::sort(sessions, {},
                    [](auto& each) { return std::tie(each.name, each.pid); });
  return sessions;
}

/// `fate` says what became of the driver: "has crashed".
void clean_up(const Crashed& session, const std::string& fate) {
  auto begin = session.name + " " + fate + ", and ";
  if (!session.problem.empty())
    throw Error(begin + "what it left can't be looked for: " + session.problem +
                "; if its engine is gone for good, remove " + session.path);
  EngineVariables variables(session.note.variables);
  if (auto left = remove_left(tools_of(session.note).look(session.note.id));
      !left.empty())
    throw Error(begin + "this can't be removed: " + list_of(left));
  forget(session.path);
}

} // namespace

std::vector<Crashed> crashed_sessions(std::chrono::milliseconds patience) {
  return that_left(noted_sessions(), patience);
}

std::string number_of(const Crashed& session) {
  return std::to_string(session.pid);
}

std::optional<Crashed> find_crashed(const std::string& name, NameMatch match) {
  auto all = noted_sessions();
  auto found = that_left(called(name, all, match), long_patience);
  if (found.empty())
    return {};
  if (found.size() > 1)
    throw Error("\"" + name + "\" is not one session: " + numbered(found));
  return std::move(found.front());
}

std::optional<Crashed> crashed_if_none_lives(const std::string& name) {
  auto living = all_sessions();
  return called(name, living, NameMatch::whole).empty()
           ? find_crashed(name, NameMatch::whole)
           : std::nullopt;
}

void clean(const Crashed& session) {
  clean_up(session, "has crashed");
}

Cleaned clean_after(const Session& session) {
  try {
    // By its note: another crashed session may have had the same pid.
    auto all = noted_sessions();
    std::erase_if(all, [own = observer::note_beside(session.path)](auto& each) {
      return each.path != own;
    });
    all = that_left(std::move(all), long_patience);
    if (all.empty())
      return {};
    clean_up(all.front(), "has ended");
    return {.removed = all.front().left};
  } catch (const std::exception& error) {
    return {.problem = error.what()};
  }
}

Cleaned clean_after(const RemoteDriver& driver, const std::string& id) {
  if (id.empty())
    return {};
  try {
    observer::SessionNote note;
    note.backend = driver.engine;
    auto left = tools_of(note).look(id);
    auto things = left.list();
    if (auto stays = things.empty() ? things : remove_left(left); !stays.empty())
      throw Error(driver.name +
                  " has ended, and this can't be removed: " + list_of(stays));
    return {.removed = things};
  } catch (const std::exception& error) {
    return {.problem = error.what()};
  }
}

std::string text_of_removed(const std::vector<std::string>& things) {
  return things.empty() ? "" : "; removed: " + list_of(things);
}

void clean_and_report(const Crashed& session, bool as_json) {
  clean(session);
  if (as_json)
    std::cout << nlohmann::json{{"name", session.name},
                                {"pid", session.pid},
                                {"crashed", true},
                                {"removed", session.left}}
                   .dump(2)
              << "\n";
  else
    std::cout << session.name << " (pid " << session.pid << ") had crashed"
              << text_of_removed(session.left) << "\n";
}

} // namespace fiber::cli
