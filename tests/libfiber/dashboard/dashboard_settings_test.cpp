// SPDX-License-Identifier: Apache-2.0
// The promise: settings of the page are refused with the reason unless they can be used,
// and its token is never shown.
#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "backends/driver_variables.hpp"
#include "fiber/error.hpp"
#include "libfiber/session/setting_keys.hpp"
#include "libfiber/session/setting_list.hpp"
#include "libfiber/session/settings.hpp"

namespace fiber {
namespace {

constexpr auto no_folder = "/nowhere"; // So that no .fiberconfig is read.

TEST(DashboardSettings, an_address_has_a_port_that_may_be_any) {
  auto settings = resolve({.dashboard = "127.0.0.1:0"}, no_folder);
  EXPECT_EQ(settings.dashboard_host, "127.0.0.1");
  EXPECT_EQ(settings.dashboard_port, 0);
  settings = resolve({.dashboard = "[::1]:8080"}, no_folder);
  EXPECT_EQ(settings.dashboard_host, "::1");
  EXPECT_EQ(settings.dashboard_port, 8080);
  for (auto* bad : {"127.0.0.1", "127.0.0.1:", ":0", "127.0.0.1:70000", "a:b:0", "on"})
    try {
      resolve({.dashboard = bad}, no_folder);
      ADD_FAILURE() << "accepted: " << bad;
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.key(), "dashboard");
      EXPECT_NE(std::string(error.what()).find(bad), std::string::npos) << error.what();
    }
}

TEST(DashboardSettings, a_token_is_long_enough_and_never_shown) {
  for (auto* bad : {"tooshortsecret", "0123456789 abcdef", "0123456789abcdef;"})
    try {
      resolve({.dashboard_token = bad}, no_folder);
      ADD_FAILURE() << "accepted: " << bad;
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.key(), "dashboard_token");
      EXPECT_EQ(std::string(error.what()).find(bad), std::string::npos) << error.what();
    }
  EXPECT_EQ(resolve({.dashboard_token = "none"}, no_folder).dashboard_token, no_token);
  setenv("FIBER_DASHBOARD_TOKEN", "0123456789abcdef", 1);
  auto list = list_settings(no_folder);
  unsetenv("FIBER_DASHBOARD_TOKEN");
  auto shown = std::ranges::find(list.settings, "dashboard_token", &Setting::key);
  ASSERT_NE(shown, list.settings.end());
  EXPECT_EQ(shown->value, "(secret)");
}

TEST(DashboardSettings, that_jobs_must_not_have_are_known_as_such) {
  std::set<std::string> only_the_drivers;
  for (auto& key : setting_keys()) {
    if (backends::is_for_driver_only(variable_of(key)))
      only_the_drivers.insert(key.name);
    EXPECT_TRUE(!key.secret || only_the_drivers.contains(key.name)) << key.name;
  }
  EXPECT_EQ(only_the_drivers,
            (std::set<std::string>{"dashboard", "dashboard_certificate", "dashboard_key",
                                   "dashboard_token", "metrics", "report", "trace"}));
}

} // namespace
} // namespace fiber
