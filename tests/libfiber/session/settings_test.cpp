// SPDX-License-Identifier: Apache-2.0
// The promise: code precedes environment, file and default; errors name the key, its
// place and the valid values.

#include "libfiber/session/settings.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <unistd.h>

#include "base/log.hpp"
#include "fiber/error.hpp"
#include "tests/locale/comma_locale.hpp"

namespace fiber {
namespace {

class SettingsTest : public testing::Test {
protected:
  SettingsTest() { std::filesystem::create_directory(directory_); }
  ~SettingsTest() override {
    std::filesystem::remove_all(directory_);
    unsetenv("FIBER_LEASE");
    unsetenv("FIBER_BACKEND");
    unsetenv("FIBER_FORWARD_OUTPUT");
    for (auto* variable : others_)
      unsetenv(variable);
  }
  void file(const std::string& text) {
    std::ofstream(directory_ + "/.fiberconfig") << text;
  }
  Settings resolve(const Config& code = {}) { return fiber::resolve(code, directory_); }
  ConfigError refused(const Config& code = {}) {
    try {
      resolve(code);
    } catch (const ConfigError& error) {
      return error;
    }
    ADD_FAILURE() << "accepted";
    return {"", "", "", ""};
  }
  /// Sets a variable that is no setting, until the end of the test.
  void set_other(const char* variable, const char* value) {
    others_.push_back(variable);
    setenv(variable, value, 1);
  }
  /// Returns what resolve() logs.
  std::string logged(const Config& code = {}) {
    std::ostringstream text;
    log().sinks().push_back(std::make_shared<spdlog::sinks::ostream_sink_mt>(text));
    resolve(code);
    log().sinks().pop_back();
    return text.str();
  }
  std::vector<const char*> others_;
  std::string directory_ =
    testing::TempDir() + "fiber_settings." + std::to_string(getpid());
};

TEST_F(SettingsTest, code_wins_over_environment_over_file_over_default) {
  EXPECT_EQ(resolve().lease, std::chrono::seconds(60));
  file("[default]\nlease = 70s\n");
  EXPECT_EQ(resolve().lease, std::chrono::seconds(70));
  setenv("FIBER_LEASE", "80", 1);
  EXPECT_EQ(resolve().lease, std::chrono::seconds(80));
  EXPECT_EQ(resolve({.lease = std::chrono::seconds(90)}).lease, std::chrono::seconds(90));
}

TEST_F(SettingsTest, times_have_units) {
  for (auto [text, ms] : {std::pair{"90s", 90000},
                          {"90000ms", 90000},
                          {"1.5min", 90000},
                          {"90", 90000},
                          {"12h", 43200000},
                          {"1.5d", 129600000}}) {
    setenv("FIBER_LEASE", text, 1);
    EXPECT_EQ(resolve().lease.count(), ms) << text;
  }
}

TEST_F(SettingsTest, times_that_are_too_long_are_31_years) {
  for (auto* text : {"1e13ms", "100000d", "1e99s", "1e300", "inf"}) {
    setenv("FIBER_LEASE", text, 1);
    EXPECT_EQ(resolve().lease.count(), 1000000000000) << text;
  }
}

TEST_F(SettingsTest, are_the_same_in_a_locale_with_a_decimal_comma) {
  file("[default]\nlease = 1234.5\nworkers_start_window = 1500\n");
  const test::CommaLocale locale;
  EXPECT_EQ(resolve().lease, std::chrono::milliseconds(1'234'500));
  EXPECT_EQ(resolve().workers_start_window, 1500);
  const std::chrono::milliseconds lease(1'234'567);
  EXPECT_EQ(resolve({.lease = lease}).lease, lease);
}

TEST_F(SettingsTest, have_the_same_variables_where_the_capital_i_has_a_dot) {
  const test::CommaLocale locale("tr_TR.UTF-8");
  set_other("FIBER_RING_PLAINTEXT", "1");
  EXPECT_TRUE(resolve().ring_plaintext);
}

TEST_F(SettingsTest, false_in_the_environment_is_false) {
  setenv("FIBER_FORWARD_OUTPUT", "false", 1);
  EXPECT_FALSE(resolve().forward_output);
}

TEST_F(SettingsTest, rings_use_plain_text_only_if_configured) {
  EXPECT_FALSE(resolve().ring_plaintext);
  EXPECT_TRUE(resolve({.ring_plaintext = true}).ring_plaintext);
  setenv("FIBER_RING_PLAINTEXT", "1", 1);
  EXPECT_TRUE(resolve().ring_plaintext);
}

TEST_F(SettingsTest, a_session_has_a_name_that_can_be_a_file) {
  EXPECT_EQ(resolve().name, "");
  EXPECT_TRUE(resolve().observe);
  EXPECT_EQ(resolve({.name = "train-1"}).name, "train-1");
  EXPECT_FALSE(resolve({.observe = false}).observe);
  for (auto* bad : {"a/b", "..", "a b", "-a"})
    EXPECT_THROW(resolve({.name = bad}), ConfigError) << bad;
}

TEST_F(SettingsTest, a_bad_value_is_named_with_its_place_and_what_is_valid) {
  setenv("FIBER_BACKEND", "locl", 1);
  auto error = refused();
  EXPECT_EQ(error.key(), "backend");
  EXPECT_EQ(error.place(), "environment FIBER_BACKEND");
  EXPECT_NE(error.valid().find("local"), std::string::npos);
}

TEST_F(SettingsTest, a_bad_line_of_the_file_is_named) {
  file("# comment\n[default]\n\nlease = soon\n");
  auto error = refused();
  EXPECT_EQ(error.key(), "lease");
  EXPECT_NE(error.place().find(".fiberconfig:4"), std::string::npos);
}

TEST_F(SettingsTest, an_unknown_key_of_the_file_is_refused) {
  file("[default]\nleese = 70s\n");
  auto error = refused();
  EXPECT_EQ(error.key(), "leese");
  EXPECT_NE(error.valid().find("lease"), std::string::npos);
}

TEST_F(SettingsTest, a_lease_must_outlast_two_heartbeat_timeouts) {
  auto error = refused(
    {.heartbeat_timeout = std::chrono::seconds(10), .lease = std::chrono::seconds(15)});
  EXPECT_EQ(error.key(), "lease");
  EXPECT_EQ(error.place(), "fiber::Config");
}

TEST_F(SettingsTest, numbers_that_make_no_sense_are_refused) {
  for (auto* text : {"-1s", "0", "nan", "12 parsecs", "12H", "1w", ""}) {
    file("[default]\nstart_deadline = " + std::string(text) + "\n");
    EXPECT_EQ(refused().key(), "start_deadline") << text;
    EXPECT_NE(refused().valid().find("units: ms, s, min, h, d"), std::string::npos);
  }
}

TEST_F(SettingsTest, a_job_waits_for_room_without_limit_unless_one_is_set) {
  EXPECT_EQ(resolve().queue_deadline.count(), 0);
  file("[default]\nqueue_deadline = 2min\n");
  EXPECT_EQ(resolve().queue_deadline, std::chrono::minutes(2));
  EXPECT_EQ(resolve({.queue_deadline = std::chrono::seconds(20)}).queue_deadline,
            std::chrono::seconds(20));
  EXPECT_EQ(refused({.queue_deadline = std::chrono::seconds(0)}).key(), "queue_deadline");
}

TEST_F(SettingsTest, an_unknown_variable_is_named_with_the_most_similar_setting) {
  set_other("FIBER_BACKND", "inline");
  auto text = logged();
  EXPECT_NE(text.find("[warning] FIBER_BACKND "), std::string::npos) << text;
  EXPECT_NE(text.find("did you mean FIBER_BACKEND?"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_EQ(resolve().backend, "auto");
}

TEST_F(SettingsTest, an_unknown_variable_unlike_any_setting_is_named_with_all_of_them) {
  set_other("FIBER_COLOUR", "blue");
  auto text = logged();
  EXPECT_NE(text.find("FIBER_COLOUR "), std::string::npos) << text;
  EXPECT_NE(text.find("backend, workers_start_window"), std::string::npos) << text;
}

TEST_F(SettingsTest, variables_of_jobs_and_tests_cause_no_warning) {
  setenv("FIBER_LEASE", "70s", 1);
  for (auto* variable : {"FIBER_NODE", "FIBER_SIM_SEED", "FIBER_TEST_CHAOS", "FIBERGLASS",
                         "MY_FIBER_LEASE"})
    set_other(variable, "1");
  set_other("FIBER_LEESE", ""); // Counts as not set.
  EXPECT_EQ(logged(), "");
  set_other("FIBER_LEESE", "70s");
  EXPECT_EQ(logged({.log_level = "error"}), "");
}

TEST_F(SettingsTest, an_unreadable_file_is_an_error) {
  auto path = directory_ + "/.fiberconfig";
  std::filesystem::create_directory(path);
  EXPECT_EQ(refused().place(), path);
  std::filesystem::remove(path);
  std::filesystem::create_symlink(".fiberconfig", path); // A link to itself.
  EXPECT_EQ(refused().place(), path);
  std::filesystem::remove(path);
  EXPECT_NO_THROW(resolve());
}

} // namespace
} // namespace fiber
