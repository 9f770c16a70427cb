// SPDX-License-Identifier: Apache-2.0
#include "cli/left_lookup.hpp"

#include <cstdlib>

#include <nlohmann/json.hpp>

#include "cli/helper_process.hpp"
#include "fiber/error.hpp"

namespace fiber::cli {
namespace {

using nlohmann::json;

void put(const std::string& name, const std::optional<std::string>& value) {
  if (value)
    ::setenv(name.c_str(), value->c_str(), 1);
  else
    ::unsetenv(name.c_str());
}

} // namespace

EngineVariables::EngineVariables(const std::map<std::string, std::string>& variables) {
  for (auto& [name, value] : variables)
    set(name, value);
  for (auto* name : observer::engine_variables)
    if (!variables.contains(name))
      set(name, std::nullopt);
}

EngineVariables::~EngineVariables() {
  for (auto& [name, value] : before_)
    put(name, value);
}

void EngineVariables::set(const std::string& name, const Value& value) {
  auto* old = std::getenv(name.c_str());
  before_[name] = old ? Value(old) : std::nullopt;
  put(name, value);
}

const LeftTools& tools_of(const observer::SessionNote& note) {
  for (auto& tools : left_tools())
    if (tools.engine == note.backend)
      return tools;
  throw Error("this build of fiber has no backend " + note.backend);
}

std::vector<LeftAnswer> look_up_left(const std::vector<observer::SessionNote>& notes,
                                     std::chrono::milliseconds patience) {
  auto limit = std::chrono::steady_clock::now() + patience;
  std::vector<HelperProcess> helpers;
  helpers.reserve(notes.size());
  for (auto& note : notes)
    helpers.emplace_back([&note] {
      EngineVariables variables(note.variables);
      return json{{"left", tools_of(note).look(note.id).list()}};
    });
  std::vector<LeftAnswer> answers;
  for (auto& helper : helpers) {
    auto told = helper.read(limit, patience);
    answers.push_back({.left = told.value("left", std::vector<std::string>()),
                       .problem = told.value("problem", "")});
  }
  return answers;
}

} // namespace fiber::cli
