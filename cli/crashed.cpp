// SPDX-License-Identifier: Apache-2.0
#include "cli/crashed.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <map>
#include <tuple>
#include <utility>

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cli/engines/left.hpp"
#include "cli/session_name.hpp"
#include "cli/sessions.hpp"
#include "fiber/error.hpp"
#include "libfiber/observer/socket_folder.hpp"

namespace fiber::cli {
namespace {

/// This process's environment leads to the engine of a session while it lives.
class EngineVariables {
public:
  explicit EngineVariables(const std::map<std::string, std::string>& variables) {
    for (auto& [name, value] : variables)
      set(name, value);
    for (auto* name : observer::engine_variables)
      if (!variables.contains(name))
        set(name, std::nullopt);
  }
  ~EngineVariables() {
    for (auto& [name, value] : before_)
      put(name, value);
  }
  EngineVariables(const EngineVariables&) = delete;
  EngineVariables& operator=(const EngineVariables&) = delete;

private:
  using Value = std::optional<std::string>;

  void set(const std::string& name, const Value& value) {
    auto* old = std::getenv(name.c_str());
    before_[name] = old ? Value(old) : std::nullopt;
    put(name, value);
  }
  static void put(const std::string& name, const Value& value) {
    if (value)
      ::setenv(name.c_str(), value->c_str(), 1);
    else
      ::unsetenv(name.c_str());
  }

  std::map<std::string, Value> before_;
};

const LeftTools& tools_of(const observer::SessionNote& note) {
  for (auto& tools : left_tools())
    if (tools.engine == note.backend)
      return tools;
  throw Error("this build of fiber has no backend " + note.backend);
}

std::vector<std::string> what_is_left(const observer::SessionNote& note) {
  EngineVariables variables(note.variables);
  return tools_of(note).look(note.id).list();
}

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

std::vector<Crashed> crashed_sessions() {
  std::vector<Crashed> crashed;
  for (auto& folder : observer::socket_folders()) {
    if (!observer::folder_problem(folder).empty())
      continue; // all_sessions() says what is wrong.
    for (auto& [note, path] : observer::left_notes(folder)) {
      if (listens_at(socket_beside(path)))
        continue; // It lives, in a container with processes of its own.
      Crashed session{.name = note.name, .pid = note.pid, .note = note, .path = path};
      try {
        session.left = what_is_left(note);
      } catch (const std::exception& error) {
        session.problem = error.what();
      }
      if (session.left.empty() && session.problem.empty())
        forget(path);
      else
        crashed.push_back(std::move(session));
    }
  }
  std::ranges::sort(crashed, {},
                    [](auto& each) { return std::tie(each.name, each.pid); });
  return crashed;
}

std::optional<Crashed> find_crashed(const std::string& name) {
  auto all = crashed_sessions();
  auto found = called(name, all);
  if (found.empty())
    return {};
  std::string several;
  for (auto& session : found)
    several +=
      (several.empty() ? "" : ", ") + session.name + ":" + std::to_string(session.pid);
  if (found.size() > 1)
    throw Error("\"" + name + "\" is not one session: " + several);
  return std::move(found.front());
}

std::optional<Crashed> crashed_if_none_lives(const std::string& name) {
  auto living = all_sessions();
  return called(name, living).empty() ? find_crashed(name) : std::nullopt;
}

void clean(const Crashed& session) {
  clean_up(session, "has crashed");
}

Cleaned clean_after(const Session& session) {
  try {
    // By its note: another crashed session may have had the same pid.
    auto all = crashed_sessions();
    auto own =
      std::ranges::find(all, observer::note_beside(session.path), &Crashed::path);
    if (own == all.end())
      return {};
    clean_up(*own, "has ended");
    return {.removed = own->left};
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
