// SPDX-License-Identifier: Apache-2.0
#include "libfiber/session/settings.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include <unistd.h>

#include <boost/property_tree/ini_parser.hpp>
#include <boost/property_tree/ptree.hpp>

#include "base/edit_distance.hpp"
#include "base/log.hpp"
#include "base/trusted_file.hpp"
#include "fiber/detail/classic_locale.hpp"
#include "fiber/error.hpp"
#include "libfiber/session/setting_keys.hpp"
#include "libfiber/session/setting_list.hpp"

namespace fiber {
namespace {

/// FIBER_ variables that are not settings: a job's own, those of fiber::rl and those of
/// Fiber's tests. A name that ends in _ is a prefix.
constexpr std::string_view no_settings[] = {
  "FIBER_ANCHOR_LINGER", "FIBER_CPUS", "FIBER_NODE", "FIBER_RL_",
  "FIBER_SESSION_ID",    "FIBER_SIM_", "FIBER_TEST_"};

using std::chrono::milliseconds;

/// A value as text, and the place that sets it.
struct Given {
  std::string text;
  std::string place;
};

/// Returns the program's Config as texts, so that one check serves all sources.
std::map<std::string, Given> from_code(const Config& code) {
  std::map<std::string, Given> given;
  auto put = [&](const char* name, const auto& value) {
    if (!value)
      return;
    using T = std::decay_t<decltype(*value)>;
    std::string text;
    if constexpr (std::is_same_v<T, std::string>)
      text = *value;
    else if constexpr (std::is_same_v<T, bool>)
      text = *value ? "true" : "false";
    else if constexpr (std::is_same_v<T, milliseconds>)
      text = std::to_string(value->count()) + "ms";
    else
      text = std::to_string(*value);
    given[name] = {text, "fiber::Config"};
  };
  put("backend", code.backend);
  put("workers_start_window", code.workers_start_window);
  put("heartbeat_timeout", code.heartbeat_timeout);
  put("lease", code.lease);
  put("start_deadline", code.start_deadline);
  put("queue_deadline", code.queue_deadline);
  put("link", code.link);
  put("forward_output", code.forward_output);
  put("log_level", code.log_level);
  put("zygote", code.zygote);
  put("chaos", code.chaos);
  put("trace", code.trace);
  put("metrics", code.metrics);
  put("name", code.name);
  put("observe", code.observe);
  put("dashboard", code.dashboard);
  put("dashboard_token", code.dashboard_token);
  put("dashboard_certificate", code.dashboard_certificate);
  put("dashboard_key", code.dashboard_key);
  put("report", code.report);
  put("advertise_address", code.advertise_address);
  put("image", code.image);
  put("environment", code.environment);
  put("hide_gpus", code.hide_gpus);
  put("docker_host", code.docker_host);
  put("docker_network", code.docker_network);
  put("docker_user", code.docker_user);
  put("docker_allow", code.docker_allow);
  put("docker_volumes", code.docker_volumes);
  put("kubernetes_namespace", code.kubernetes_namespace);
  put("kubernetes_context", code.kubernetes_context);
  put("kubernetes_security", code.kubernetes_security);
  put("kubernetes_pod_template", code.kubernetes_pod_template);
  put("gpu_key", code.gpu_key);
  put("ring_plaintext", code.ring_plaintext);
  for (auto& [key, value] : code.more) {
    if (!is_setting_key(key))
      throw ConfigError(key, "fiber::Config", setting_key_list(), "there is no such key");
    given[key] = {value, "fiber::Config"};
  }
  return given;
}

std::map<std::string, Given> from_environment() {
  std::map<std::string, Given> given;
  for (auto& key : setting_keys()) {
    auto name = variable_of(key);
    if (auto* value = std::getenv(name.c_str()); value != nullptr && *value != '\0')
      given[key.name] = {value, "environment " + name};
  }
  return given;
}

bool is_no_setting(std::string_view variable) {
  return std::any_of(std::begin(no_settings), std::end(no_settings), [&](auto& other) {
    return other.ends_with('_') ? variable.starts_with(other) : variable == other;
  });
}

/// Returns a sentence for each unknown FIBER_ variable. They are no error, because
/// another program may own them.
std::vector<std::string> unknown_variables() {
  std::vector<std::string> known, unknown;
  for (auto& key : setting_keys())
    known.push_back(variable_of(key));
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    std::string_view text = *entry;
    auto end = text.find('=');
    auto name = text.substr(0, end);
    if (!name.starts_with("FIBER_") || end == text.npos || end + 1 == text.size() ||
        is_no_setting(name) || std::count(known.begin(), known.end(), name) > 0)
      continue;
    auto nearest = *std::min_element(known.begin(), known.end(), [&](auto& a, auto& b) {
      return edit_distance(a, name) < edit_distance(b, name);
    });
    unknown.push_back(std::string(name) + " is no setting and has no effect; " +
                      (edit_distance(nearest, name) <= 3
                         ? "did you mean " + nearest + "?"
                         : "the settings are: " + setting_key_list()));
  }
  return unknown;
}

/// Returns "path:line" of the line that sets `key` in the text of a file.
std::string line_of(const std::string& path, const std::string& text,
                    const std::string& key) {
  fiber::detail::Classic<std::istringstream> file(text);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    auto from = line.find_first_not_of(" \t");
    if (from != std::string::npos && line.compare(from, key.size(), key) == 0)
      return path + ":" + std::to_string(number);
  }
  return path;
}

using Problems = std::vector<ConfigError>;

/// Reads a file, and appends what is wrong with it to `problems`.
std::map<std::string, Given> from_file(const std::string& path, Problems& problems) {
  std::map<std::string, Given> given;
  std::string text;
  try {
    if (auto read = read_trusted(path, {.folder = true}))
      text = std::move(*read);
    else
      return given;
  } catch (const UntrustedFile& error) {
    problems.emplace_back("(all)", path, "a file of this user that nobody else can write",
                          error.what());
    return given;
  } catch (const std::system_error& error) {
    problems.emplace_back("(all)", path, "a file that can be read, or none",
                          error.code().message());
    return given;
  }
  fiber::detail::Classic<std::istringstream> file(text);
  boost::property_tree::ptree tree;
  try {
    boost::property_tree::read_ini(file, tree);
  } catch (const boost::property_tree::ini_parser_error& error) {
    problems.emplace_back("(syntax)", path + ":" + std::to_string(error.line()),
                          "lines of the form key = value under [default]",
                          error.message());
    return given;
  }
  for (auto& [name, section] : tree) {
    if (name != "default") {
      problems.emplace_back(name,
                            line_of(path, text, section.empty() ? name : "[" + name),
                            "the section [default]", "this section or key is not known");
      continue;
    }
    for (auto& [key, value] : section)
      if (is_setting_key(key))
        given[key] = {value.data(), line_of(path, text, key)};
      else
        problems.emplace_back(key, line_of(path, text, key), setting_key_list(),
                              "there is no such key");
  }
  return given;
}

/// The settings from all sources: each value as text, the values themselves, and what is
/// wrong.
struct Merged {
  std::map<std::string, Given> given;
  Settings settings;
  Problems problems;
};

void check_lease(Merged& merged) {
  auto& settings = merged.settings;
  auto& places = settings.places;
  if (settings.lease >= 2 * settings.heartbeat_timeout)
    return;
  merged.problems.emplace_back(
    "lease", places.count("lease") > 0 ? places["lease"] : places["heartbeat_timeout"],
    "at least twice heartbeat_timeout",
    std::to_string(settings.lease.count()) + " ms is too short beside a " +
      "heartbeat_timeout of " + std::to_string(settings.heartbeat_timeout.count()) +
      " ms");
}

Merged merge(const Config& code, const std::string& directory) {
  auto name = (directory == "." ? "" : directory + "/") + std::string(".fiberconfig");
  Merged merged;
  const std::map<std::string, Given> sources[] = {from_code(code), from_environment(),
                                                  from_file(name, merged.problems)};
  for (auto& key : setting_keys()) {
    for (auto& source : sources) {
      auto given = source.find(key.name);
      if (given == source.end())
        continue;
      merged.given[key.name] = given->second;
      if (!key.set(given->second.text, merged.settings))
        merged.problems.emplace_back(
          key.name, given->second.place, key.valid,
          (key.secret ? std::string("its value") : "'" + given->second.text + "'") +
            (key.name == "backend" ? " is no backend that this program was built with"
                                   : " can't be used"));
      merged.settings.places[key.name] = given->second.place;
      break;
    }
  }
  if (merged.problems.empty())
    check_lease(merged);
  return merged;
}

} // namespace

Settings resolve(const Config& code, const std::string& directory) {
  auto merged = merge(code, directory);
  if (!merged.problems.empty())
    throw merged.problems.front();
  auto& settings = merged.settings;
  if (spdlog::level::from_str(settings.log_level) <= spdlog::level::warn)
    for (auto& sentence : unknown_variables())
      log().warn("{}", sentence);
  return settings;
}

SettingList list_settings(const std::string& directory) {
  auto merged = merge({}, directory);
  SettingList list;
  for (auto& key : setting_keys()) {
    auto given = merged.given.find(key.name);
    bool set = given != merged.given.end();
    list.settings.push_back({.key = key.name,
                             .variable = variable_of(key),
                             .value = !set         ? key.standard
                                      : key.secret ? "(secret)"
                                                   : given->second.text,
                             .place = set ? given->second.place : "default",
                             .valid = key.valid});
  }
  for (auto& problem : merged.problems)
    list.problems.emplace_back(problem.what());
  list.unknown = unknown_variables();
  return list;
}

} // namespace fiber
