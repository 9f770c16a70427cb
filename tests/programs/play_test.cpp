// SPDX-License-Identifier: Apache-2.0
// play draws a policy's episode, and says so if the policy was trained with another
// physics engine.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include "fiber/rl/checkpoint_file.hpp"
#include "fiber/rl/environments.hpp"
#include "fiber/rl/saved_policy.hpp"
#include "tests/examples/program.hpp"

namespace {

namespace fs = std::filesystem;
namespace rl = fiber::rl;

struct PlayProgramTest : testing::Test {
  fs::path folder = fs::path(testing::TempDir()) / ("play-" + std::to_string(getpid()));

  PlayProgramTest() { fs::create_directories(folder); }
  ~PlayProgramTest() override { fs::remove_all(folder); }

  static rl::SavedPolicy policy(const std::string& environment) {
    rl::SavedPolicy policy{
      .environment = environment,
      .spec = {.spaces = rl::make_environment(environment)->spaces(), .hidden = {2}}};
    policy.parameters.resize(policy.spec.parameter_count());
    return policy;
  }

  std::string play(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> command = {PLAY, (folder / "policy").string()};
    command.insert(command.end(), more.begin(), more.end());
    Program program(command);
    const auto output = program.rest();
    EXPECT_EQ(program.wait(), 0) << output;
    return output;
  }
};

TEST_F(PlayProgramTest, warns_of_another_physics_engine) {
  rl::save_state(folder / "policy",
                 {.kind = "fiber-rl-policy", .settings = {{"physics", "Engine 7.1"}}},
                 policy("cartpole"));
  const auto output = play();
  EXPECT_NE(output.find("play: warning: "), std::string::npos) << output;
  EXPECT_NE(output.find("was trained with Engine 7.1"), std::string::npos) << output;
  EXPECT_NE(output.find("cartpole, episode 1: return "), std::string::npos) << output;
}

TEST_F(PlayProgramTest, draws_each_kind_of_environment_without_a_display) {
  const auto names = rl::environment_names();
  for (const std::string name : {"cartpole", "lunar_lander", "hopper"}) {
    if (std::ranges::count(names, name) == 0)
      continue; // This build lacks its physics engine.
    SCOPED_TRACE(name);
    rl::save_policy(folder / "policy", policy(name));
    const auto gif = folder / (name + ".gif");
    const auto output = play({"--gif", gif.string(), "--steps", "20"});
    EXPECT_EQ(output.find("warning"), std::string::npos) << output;
    std::string start(6, ' ');
    std::ifstream(gif, std::ios::binary).read(start.data(), 6);
    EXPECT_EQ(start, "GIF89a");
    EXPECT_GT(fs::file_size(gif), 1000u);
  }
}

} // namespace
