// SPDX-License-Identifier: Apache-2.0
#include "libfiber/session/setting_keys.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "actors/core/chaos.hpp"
#include "backends/registry.hpp"
#include "base/ascii.hpp"
#include "libfiber/observer/socket_folder.hpp"

namespace fiber {
namespace {

using std::chrono::milliseconds;

std::optional<double> number(const std::string& text, std::string& unit) {
  double value = 0;
  auto end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || value < 0)
    return std::nullopt;
  unit.assign(rest, end);
  return value;
}

/// Returns how many milliseconds a unit of time has.
std::optional<double> milliseconds_of(const std::string& unit) {
  constexpr std::pair<std::string_view, double> units[] = {
    {"", 1e3}, {"ms", 1}, {"s", 1e3}, {"min", 60e3}, {"h", 3600e3}, {"d", 24 * 3600e3}};
  auto found =
    std::ranges::find(units, unit, &std::pair<std::string_view, double>::first);
  return found == std::end(units) ? std::nullopt : std::optional(found->second);
}

Key duration(std::string name, milliseconds Settings::*field) {
  auto standard = (Settings{}.*field).count();
  return {std::move(name),
          "a time such as 10s or 1.5 (seconds), more than 0; units: ms, s, min, h, d",
          standard == 0          ? ""
          : standard % 1000 == 0 ? std::to_string(standard / 1000) + "s"
                                 : std::to_string(standard) + "ms",
          [field](const std::string& text, Settings& settings) {
            std::string unit;
            auto value = number(text, unit);
            auto factor = milliseconds_of(unit);
            if (!value || !factor)
              return false;
            auto count = *value * *factor;
            if (!(count >= 1)) // Or NaN.
              return false;
            constexpr double longest = 1e12; // 31 years.
            settings.*field =
              milliseconds(static_cast<milliseconds::rep>(std::min(count, longest)));
            return true;
          }};
}

Key choice(std::string name, std::string Settings::*field,
           std::vector<std::string> valid) {
  std::string list;
  for (auto& word : valid)
    list += (list.empty() ? "" : ", ") + word;
  return {std::move(name), list, Settings{}.*field,
          [field, valid = std::move(valid)](const std::string& text, Settings& settings) {
            settings.*field = text;
            return std::find(valid.begin(), valid.end(), text) != valid.end();
          }};
}

Key truth(std::string name, bool Settings::*field) {
  return {std::move(name), "true, false, 1, 0, yes, no, on, off",
          Settings{}.*field ? "true" : "false",
          [field](const std::string& given, Settings& settings) {
            auto is_one_of = [&](std::vector<std::string> words) {
              return std::find(words.begin(), words.end(), given) != words.end();
            };
            settings.*field = is_one_of({"true", "1", "yes", "on"});
            return settings.*field || is_one_of({"false", "0", "no", "off"});
          }};
}

/// Splits at commas.

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

Key path(std::string name, std::string valid, std::string Settings::*field) {
  return {std::move(name), std::move(valid), "",
          [field](const std::string& text, Settings& settings) {
            settings.*field = text;
            return !text.empty();
          }};
}

/// Parses HOST:PORT, where the port may be 0.
bool read_dashboard(const std::string& text, Settings& settings) {
  auto any = text.ends_with(":0");
  auto fixed = any ? text.substr(0, text.size() - 1) + "1" : text;
  auto good = read_address(fixed, settings.dashboard_host, settings.dashboard_port) &&
              settings.dashboard_port > 0;
  if (any)
    settings.dashboard_port = 0;
  return good;
}

bool set_token(const std::string& text, Settings& settings) {
  settings.dashboard_token = text;
  if (text == no_token)
    return true;
  return text.size() >= 16 && text.size() <= 200 && std::ranges::all_of(text, [](char c) {
           return ascii::is_letter_or_digit(c) || c == '-' || c == '_' || c == '.' ||
                  c == '~';
         });
}

/// Returns the keys of the live page and of its file.
std::vector<Key> dashboard_keys() {
  return {
    {"dashboard",
     "HOST:PORT or [IPV6]:PORT, an address of this machine; port 0 is any free one", "",
     read_dashboard},
    {"dashboard_token", "16 to 200 letters, digits, '-', '_', '.' and '~', or none", "",
     set_token, true},
    path("dashboard_certificate", "the path of a certificate chain in PEM",
         &Settings::dashboard_certificate),
    path("dashboard_key", "the path of a private key in PEM", &Settings::dashboard_key),
    path("report", "the path of a file that can be written", &Settings::report)};
}

bool set_environment(const std::string& text, Settings& settings) {
  for (auto& part : backends::parts_of(text)) {
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
  return {key.name, key.valid, "", [&key](const std::string& text, Settings& settings) {
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
  return {
    choice("backend", &Settings::backend, backend_names()),
    {"workers_start_window", "a whole number from 1 to 100000",
     std::to_string(Settings{}.workers_start_window),
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
    duration("queue_deadline", &Settings::queue_deadline),
    choice("link", &Settings::link, {"auto", "tls"}),
    truth("forward_output", &Settings::forward_output),
    choice("log_level", &Settings::log_level,
           {"trace", "debug", "info", "warn", "error", "off"}),
    {"chaos", "kill=P,stall=P,seed=N with probabilities P from 0 to 1", "",
     [](const std::string& text, Settings& settings) {
       settings.chaos = text;
       return actors::Chaos::parse(text).has_value();
     }},
    path("trace", "the path of a file that can be written", &Settings::trace),
    {"metrics", "HOST:PORT or [IPV6]:PORT, an address of this machine that is free", "",
     [](const std::string& text, Settings& settings) {
       return read_address(text, settings.metrics_host, settings.metrics_port) &&
              settings.metrics_port > 0;
     }},
    {"name", "1 to 40 letters, digits, '.', '_' or '-', not '.' or '-' at first", "",
     [](const std::string& text, Settings& settings) {
       settings.name = text;
       return observer::is_name(text);
     }},
    truth("observe", &Settings::observe),
    {"advertise_address", "HOST, HOST:PORT or [IPV6]:PORT", "",
     [](const std::string& text, Settings& settings) {
       return read_address(text, settings.advertise_host, settings.advertise_port);
     }},
    {"image", "the name of an image", "",
     [](const std::string& text, Settings& settings) {
       settings.image = text;
       return backends::is_word(text);
     }},
    {"environment", "NAME=VALUE or NAME, separated by commas", "", set_environment},
    truth("hide_gpus", &Settings::hide_gpus),
    truth("ring_plaintext", &Settings::ring_plaintext)};
}

} // namespace

const std::vector<Key>& setting_keys() {
  static const auto all = [] {
    auto keys = common_keys();
    std::ranges::move(dashboard_keys(), std::back_inserter(keys));
    for (auto& kind : backends::backend_kinds())
      for (auto& key : kind.keys)
        keys.push_back(of_backend(key));
    return keys;
  }();
  return all;
}

std::string setting_key_list() {
  std::string list;
  for (auto& key : setting_keys())
    list += (list.empty() ? "" : ", ") + key.name;
  return list;
}

bool is_setting_key(const std::string& name) {
  return std::ranges::find(setting_keys(), name, &Key::name) != setting_keys().end();
}

std::string variable_of(const Key& key) {
  return "FIBER_" + ascii::upper(key.name);
}

} // namespace fiber
