// SPDX-License-Identifier: Apache-2.0
// The promise: `fiber config` shows every setting, its value and where that is from, and
// names what can't be used.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "backends/registry.hpp"
#include "tests/cli/command.hpp"

namespace fiber::cli {
namespace {

using nlohmann::json;

json setting(const Outcome& outcome, const std::string& key) {
  auto told = json::parse(outcome.out);
  for (auto& each : told["settings"])
    if (each["key"] == key)
      return each;
  return nullptr;
}

TEST(Config, shows_a_default_as_such) {
  auto outcome = fiber_command({"config", "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  auto lease = setting(outcome, "lease");
  EXPECT_EQ(lease["value"], "60s");
  EXPECT_EQ(lease["place"], "default");
  EXPECT_EQ(lease["variable"], "FIBER_LEASE");
  EXPECT_EQ(setting(outcome, "workers_start_window")["value"], "64");
  EXPECT_EQ(setting(outcome, "forward_output")["value"], "true");
}

TEST(Config, shows_the_keys_of_every_backend) {
  auto outcome = fiber_command({"config", "--json"});
  for (auto& kind : backends::backend_kinds())
    for (auto& key : kind.keys)
      EXPECT_EQ(setting(outcome, key.name)["valid"], key.valid);
}

TEST(Config, names_the_variable_that_set_a_value) {
  auto outcome = fiber_command({"config", "--json"}, {{"FIBER_LEASE", "30s"}});
  EXPECT_EQ(setting(outcome, "lease")["value"], "30s");
  EXPECT_EQ(setting(outcome, "lease")["place"], "environment FIBER_LEASE");
}

TEST(Config, names_the_line_of_the_file_that_set_a_value) {
  TestFolder folder;
  folder.write(".fiberconfig", "[default]\nbackend = inline\n");
  auto outcome = shell("cd " + folder.path("") + " && " FIBER_COMMAND " config --json");
  EXPECT_EQ(setting(outcome, "backend")["value"], "inline");
  EXPECT_EQ(setting(outcome, "backend")["place"], ".fiberconfig:2");
}

TEST(Config, names_every_unknown_key_and_variable) {
  TestFolder folder;
  folder.write(".fiberconfig", "[default]\nleese = 30s\nbackent = local\n");
  auto outcome =
    shell("cd " + folder.path("") + " && FIBER_LEESE=1 " FIBER_COMMAND " config");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find(".fiberconfig:2"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find(".fiberconfig:3"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find(
              "FIBER_LEESE is no setting and has no effect; did you mean FIBER_LEASE?"),
            std::string::npos)
    << outcome.err;
}

TEST(Config, says_which_value_cannot_be_used) {
  auto outcome = fiber_command({"config"}, {{"FIBER_LEASE", "soon"}});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("environment FIBER_LEASE"), std::string::npos)
    << outcome.err;
  EXPECT_NE(outcome.err.find("'soon' can't be used"), std::string::npos) << outcome.err;
}

TEST(Verbs, an_unknown_verb_suggests_the_nearest) {
  auto outcome = fiber_command({"confg"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(
    outcome.err,
    "fiber: there is no verb 'confg'; did you mean config?; fiber --help names all\n");
  EXPECT_EQ(fiber_command({"xyzzy"}).err,
            "fiber: there is no verb 'xyzzy'; fiber --help names all\n");
}

TEST(Verbs, each_has_examples_in_its_help) {
  for (auto* verb : {"completion", "config", "cp", "doctor", "run"}) {
    auto outcome = fiber_command({verb, "--help"});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_NE(outcome.out.find("Examples:\n"), std::string::npos) << verb;
  }
}

} // namespace
} // namespace fiber::cli
