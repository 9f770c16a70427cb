// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <memory>

#include <nlohmann/json.hpp>

#include "cli/verbs.hpp"
#include "libfiber/session/setting_list.hpp"

namespace fiber::cli {
namespace {

void print_json(const SettingList& list) {
  auto settings = nlohmann::json::array();
  for (auto& setting : list.settings)
    settings.push_back({{"key", setting.key},
                        {"variable", setting.variable},
                        {"value", setting.value},
                        {"place", setting.place},
                        {"valid", setting.valid}});
  std::printf("%s\n", nlohmann::json{{"settings", settings},
                                     {"problems", list.problems},
                                     {"unknown", list.unknown}}
                        .dump(2)
                        .c_str());
}

void print_table(const SettingList& list) {
  std::size_t key = 0, value = 0, place = 0;
  for (auto& setting : list.settings) {
    key = std::max(key, setting.key.size());
    value = std::max(value, setting.value.size());
    place = std::max(place, setting.place.size());
  }
  auto row = [&](const char* a, const char* b, const char* c, const char* d) {
    std::printf("%-*s  %-*s  %-*s  %s\n", static_cast<int>(key), a,
                static_cast<int>(std::max<std::size_t>(value, 5)), b,
                static_cast<int>(place), c, d);
  };
  row("KEY", "VALUE", "FROM", "VALID");
  for (auto& setting : list.settings)
    row(setting.key.c_str(), setting.value.empty() ? "-" : setting.value.c_str(),
        setting.place.c_str(), setting.valid.c_str());
}

void show(bool json) {
  auto list = list_settings();
  if (json)
    print_json(list);
  else
    print_table(list);
  std::fflush(stdout);
  if (!json) {
    for (auto& problem : list.problems)
      std::fprintf(stderr, "error: %s\n", problem.c_str());
    for (auto& sentence : list.unknown)
      std::fprintf(stderr, "warning: %s\n", sentence.c_str());
  }
  if (!list.problems.empty())
    throw CLI::RuntimeError(1);
}

} // namespace

void add_config(CLI::App& app) {
  auto* verb =
    app.add_subcommand("config", "Show each setting, its value, and where it is from");
  auto json = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, "Print JSON");
  verb->footer("Settings come from FIBER_* variables and from .fiberconfig in this "
               "folder. The exit code is 1 if a value\n"
               "or a key in them can't be used.\n\n"
               "Examples:\n"
               "  fiber config\n"
               "  FIBER_LEASE=30s fiber config --json | jq '.settings[] | select(.key == "
               "\"lease\")'");
  verb->callback([json] { show(*json); });
}

} // namespace fiber::cli
