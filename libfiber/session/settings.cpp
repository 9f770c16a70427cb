// SPDX-License-Identifier: Apache-2.0
#include "libfiber/session/settings.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include <unistd.h>

#include <boost/property_tree/ini_parser.hpp>
#include <boost/property_tree/ptree.hpp>

#include "actors/core/chaos.hpp"
#include "backends/registry.hpp"
#include "base/log.hpp"
#include "fiber/error.hpp"
#include "libfiber/observer/socket_folder.hpp"

namespace fiber {
namespace {

/// FIBER_ variables that are not settings: a job's own, those of fiber::rl and those of
/// Fiber's tests. A name that ends in _ is a prefix.
constexpr std::string_view no_settings[] = {"FIBER_NODE", "FIBER_RL_", "FIBER_SIM_",
                                            "FIBER_TEST_"};

using std::chrono::milliseconds;

/// A value as text, and the place that sets it.
struct Given {
  std::string text;
  std::string place;
};

/// A configuration key: a description of its valid values, and a setter that returns
/// false for an invalid text.
struct Key {
  std::string name;
  std::string valid;
  std::function<bool(const std::string& text, Settings& settings)> set;
};

std::optional<double> number(const std::string& text, std::string& unit) {
  double value = 0;
  auto end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || value < 0)
    return std::nullopt;
  unit.assign(rest, end);
  return value;
}

Key duration(std::string name, milliseconds Settings::*field) {
  return {std::move(name), "a time such as 10s, 500ms or 1.5 (seconds), more than 0",
          [field](const std::string& text, Settings& settings) {
            std::string unit;
            auto value = number(text, unit);
            auto factor = unit.empty() || unit == "s" ? 1000.0
                          : unit == "ms"              ? 1.0
                          : unit == "min"             ? 60000.0
                                                      : 0.0;
            if (!value || !(*value * factor >= 1 && *value * factor <= 1e12)) // Or NaN.
              return false;
            settings.*field =
              milliseconds(static_cast<milliseconds::rep>(*value * factor));
            return true;
          }};
}

Key choice(std::string name, std::string Settings::*field,
           std::vector<std::string> valid) {
  std::string list;
  for (auto& word : valid)
    list += (list.empty() ? "" : ", ") + word;
  return {std::move(name), list,
          [field, valid = std::move(valid)](const std::string& text, Settings& settings) {
            settings.*field = text;
            return std::find(valid.begin(), valid.end(), text) != valid.end();
          }};
}

Key truth(std::string name, bool Settings::*field) {
  return {std::move(name), "true, false, 1, 0, yes, no, on, off",
          [field](const std::string& given, Settings& settings) {
            auto is_one_of = [&](std::vector<std::string> words) {
              return std::find(words.begin(), words.end(), given) != words.end();
            };
            settings.*field = is_one_of({"true", "1", "yes", "on"});
            return settings.*field || is_one_of({"false", "0", "no", "off"});
          }};
}

/// Splits at commas.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');)
    parts.push_back(part);
  return parts;
}

/// Parses HOST:PORT, [IPV6]:PORT or HOST, which leaves `port` at 0.
bool read_address(const std::string& text, std::string& host, std::uint16_t& port) {
  auto bracket = text.find(']');
  auto colon = text.find(':', bracket == text.npos ? 0 : bracket);
  host = text.substr(0, colon);
  if (bracket != text.npos && host.starts_with('['))
    host = host.substr(1, bracket - 1);
  port = 0;
  if (colon == text.npos)
    return !host.empty();
  auto end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data() + colon + 1, end, port);
  return error == std::errc() && rest == end && port > 0 && !host.empty();
}

bool set_environment(const std::string& text, Settings& settings) {
  for (auto& part : parts_of(text)) {
    auto equals = part.find('=');
    auto name = part.substr(0, equals);
    if (name.empty() || name.find_first_of(" \t") != name.npos)
      return false;
    const char* value = std::getenv(name.c_str());
    if (equals != part.npos)
      settings.environment[name] = part.substr(equals + 1);
    else if (value != nullptr)
      settings.environment[name] = value;
  }
  return true;
}

Key of_backend(const backends::BackendKey& key) {
  return {key.name, key.valid, [&key](const std::string& text, Settings& settings) {
            settings.backend_values[key.name] = text;
            return key.accepts(text);
          }};
}

/// Returns the valid values of the key `backend`.
std::vector<std::string> backend_names() {
  std::vector<std::string> names{"auto", "inline"};
  for (auto& kind : backends::backend_kinds())
    names.push_back(kind.name);
  return names;
}

/// Returns the keys that do not depend on the backends in this build.
std::vector<Key> common_keys() {
  return {choice("backend", &Settings::backend, backend_names()),
          {"workers_start_window", "a whole number from 1 to 100000",
           [](const std::string& text, Settings& settings) {
             std::string unit;
             auto value = number(text, unit);
             if (!value || !unit.empty() || !(*value >= 1 && *value <= 100000))
               return false;
             settings.workers_start_window = static_cast<std::size_t>(*value);
             return static_cast<double>(settings.workers_start_window) == *value;
           }},
          duration("heartbeat_timeout", &Settings::heartbeat_timeout),
          duration("lease", &Settings::lease),
          duration("start_deadline", &Settings::start_deadline),
          choice("link", &Settings::link, {"auto", "tls"}),
          truth("forward_output", &Settings::forward_output),
          choice("log_level", &Settings::log_level,
                 {"trace", "debug", "info", "warn", "error", "off"}),
          {"chaos", "kill=P,stall=P,seed=N with probabilities P from 0 to 1",
           [](const std::string& text, Settings& settings) {
             settings.chaos = text;
             return actors::Chaos::parse(text).has_value();
           }},
          {"trace", "the path of a file that can be written",
           [](const std::string& text, Settings& settings) {
             settings.trace = text;
             return !text.empty();
           }},
          {"metrics", "HOST:PORT or [IPV6]:PORT, an address of this machine that is free",
           [](const std::string& text, Settings& settings) {
             return read_address(text, settings.metrics_host, settings.metrics_port) &&
                    settings.metrics_port > 0;
           }},
          {"name", "1 to 40 letters, digits, '.', '_' or '-', not '.' or '-' at first",
           [](const std::string& text, Settings& settings) {
             settings.name = text;
             return observer::is_name(text);
           }},
          truth("observe", &Settings::observe),
          {"advertise_address", "HOST, HOST:PORT or [IPV6]:PORT",
           [](const std::string& text, Settings& settings) {
             return read_address(text, settings.advertise_host, settings.advertise_port);
           }},
          {"image", "the name of an image",
           [](const std::string& text, Settings& settings) {
             settings.image = text;
             return backends::is_word(text);
           }},
          {"environment", "NAME=VALUE or NAME, separated by commas", set_environment},
          truth("ring_plaintext", &Settings::ring_plaintext)};
}

const std::vector<Key>& keys() {
  static const auto all = [] {
    auto keys = common_keys();
    for (auto& kind : backends::backend_kinds())
      for (auto& key : kind.keys)
        keys.push_back(of_backend(key));
    return keys;
  }();
  return all;
}

std::string key_list() {
  std::string list;
  for (auto& key : keys())
    list += (list.empty() ? "" : ", ") + key.name;
  return list;
}

bool is_key(const std::string& name) {
  return std::ranges::find(keys(), name, &Key::name) != keys().end();
}

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
  put("link", code.link);
  put("forward_output", code.forward_output);
  put("log_level", code.log_level);
  put("zygote", code.zygote);
  put("chaos", code.chaos);
  put("trace", code.trace);
  put("metrics", code.metrics);
  put("name", code.name);
  put("observe", code.observe);
  put("advertise_address", code.advertise_address);
  put("image", code.image);
  put("environment", code.environment);
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
    if (!is_key(key))
      throw ConfigError(key, "fiber::Config", key_list(), "there is no such key");
    given[key] = {value, "fiber::Config"};
  }
  return given;
}

std::string variable_of(const Key& key) {
  auto name = "FIBER_" + key.name;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return name;
}

std::map<std::string, Given> from_environment() {
  std::map<std::string, Given> given;
  for (auto& key : keys()) {
    auto name = variable_of(key);
    if (auto* value = std::getenv(name.c_str()); value != nullptr && *value != '\0')
      given[key.name] = {value, "environment " + name};
  }
  return given;
}

/// Returns the Levenshtein distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    auto diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      auto replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

bool is_no_setting(std::string_view variable) {
  return std::any_of(std::begin(no_settings), std::end(no_settings), [&](auto& other) {
    return other.ends_with('_') ? variable.starts_with(other) : variable == other;
  });
}

/// Warns of unknown FIBER_ variables. They are no error, because another program may own
/// them.
void warn_of_unknown_variables() {
  std::vector<std::string> known;
  for (auto& key : keys())
    known.push_back(variable_of(key));
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    std::string_view text = *entry;
    auto end = text.find('=');
    auto name = text.substr(0, end);
    if (!name.starts_with("FIBER_") || end == text.npos || end + 1 == text.size() ||
        is_no_setting(name) || std::count(known.begin(), known.end(), name) > 0)
      continue;
    auto nearest = *std::min_element(known.begin(), known.end(), [&](auto& a, auto& b) {
      return distance(a, name) < distance(b, name);
    });
    if (distance(nearest, name) <= 3)
      log().warn("{} is no setting and has no effect; did you mean {}?", name, nearest);
    else
      log().warn("{} is no setting and has no effect; the settings are: {}", name,
                 key_list());
  }
}

/// Returns "path:line" of the line that sets `key`.
std::string line_of(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    auto from = line.find_first_not_of(" \t");
    if (from != std::string::npos && line.compare(from, key.size(), key) == 0)
      return path + ":" + std::to_string(number);
  }
  return path;
}

std::map<std::string, Given> from_file(const std::string& path) {
  std::map<std::string, Given> given;
  std::error_code problem;
  auto status = std::filesystem::status(path, problem);
  if (status.type() == std::filesystem::file_type::not_found)
    return given;
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(status)) {
    if (!problem)
      problem = {std::filesystem::is_directory(status) ? EISDIR : errno,
                 std::generic_category()};
    throw ConfigError("(all)", path, "a file that can be read, or none",
                      problem.message());
  }
  boost::property_tree::ptree tree;
  try {
    boost::property_tree::read_ini(file, tree);
  } catch (const boost::property_tree::ini_parser_error& error) {
    throw ConfigError("(syntax)", path + ":" + std::to_string(error.line()),
                      "lines of the form key = value under [default]", error.message());
  }
  for (auto& [name, section] : tree) {
    if (name != "default")
      throw ConfigError(name, line_of(path, section.empty() ? name : "[" + name),
                        "the section [default]", "this section or key is not known");
    for (auto& [key, value] : section) {
      if (!is_key(key))
        throw ConfigError(key, line_of(path, key), key_list(), "there is no such key");
      given[key] = {value.data(), line_of(path, key)};
    }
  }
  return given;
}

} // namespace

Settings resolve(const Config& code, const std::string& directory) {
  auto name = (directory == "." ? "" : directory + "/") + std::string(".fiberconfig");
  const std::map<std::string, Given> sources[] = {from_code(code), from_environment(),
                                                  from_file(name)};
  Settings settings;
  auto& places = settings.places;
  for (auto& key : keys()) {
    for (auto& source : sources) {
      auto given = source.find(key.name);
      if (given == source.end())
        continue;
      if (!key.set(given->second.text, settings))
        throw ConfigError(key.name, given->second.place, key.valid,
                          "'" + given->second.text + "' can't be used");
      places[key.name] = given->second.place;
      break;
    }
  }
  if (settings.lease < 2 * settings.heartbeat_timeout) {
    auto place =
      places.count("lease") > 0 ? places["lease"] : places["heartbeat_timeout"];
    throw ConfigError("lease", place, "at least twice heartbeat_timeout",
                      std::to_string(settings.lease.count()) +
                        " ms is too short beside a "
                        "heartbeat_timeout of " +
                        std::to_string(settings.heartbeat_timeout.count()) + " ms");
  }
  if (spdlog::level::from_str(settings.log_level) <= spdlog::level::warn)
    warn_of_unknown_variables();
  return settings;
}

} // namespace fiber
