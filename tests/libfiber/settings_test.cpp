// SPDX-License-Identifier: Apache-2.0
// Code before environment before file before default, and errors that say what, where and
// what would be right.

#include "libfiber/settings.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "fiber/error.hpp"

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
  for (auto [text, ms] :
       {std::pair{"90s", 90000}, {"90000ms", 90000}, {"1.5min", 90000}, {"90", 90000}}) {
    setenv("FIBER_LEASE", text, 1);
    EXPECT_EQ(resolve().lease.count(), ms) << text;
  }
}

TEST_F(SettingsTest, false_in_the_environment_is_false) {
  setenv("FIBER_FORWARD_OUTPUT", "false", 1);
  EXPECT_FALSE(resolve().forward_output);
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
  for (auto* text : {"-1s", "0", "nan", "inf", "1e99s", "12 parsecs", ""}) {
    file("[default]\nstart_deadline = " + std::string(text) + "\n");
    EXPECT_EQ(refused().key(), "start_deadline") << text;
  }
}

} // namespace
} // namespace fiber
