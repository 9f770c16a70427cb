// SPDX-License-Identifier: Apache-2.0
// play writes a policy in the format that the name of the file tells.

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <unistd.h>

#include "fiber/rl/saved_policy.hpp"
#include "tests/examples/program.hpp"

namespace {

namespace fs = std::filesystem;

struct PlayExportTest : testing::Test {
  const fs::path folder =
    fs::path(testing::TempDir()) / ("play-export-" + std::to_string(getpid()));

  PlayExportTest() {
    fs::create_directories(folder);
    // No environment has this name here: an export needs none.
    fiber::rl::SavedPolicy policy{
      .environment = "of_another_program",
      .spec = {.spaces = {.observation_shape = {2}, .actions = 3}}};
    policy.parameters = fiber::rl::initial_parameters(policy.spec, 1);
    fiber::rl::save_policy(folder / "policy", policy);
  }
  ~PlayExportTest() override { fs::remove_all(folder); }

  std::string exported(const std::string& name, int code) const {
    Program play({PLAY, (folder / "policy").string(), "--export", path(name)});
    auto output = play.rest();
    EXPECT_EQ(play.wait(), code) << output;
    return output;
  }
  std::string path(const std::string& name) const { return (folder / name).string(); }
  std::string content(const std::string& name) const {
    std::ifstream file(folder / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

TEST_F(PlayExportTest, exports_a_policy_in_three_formats) {
  EXPECT_EQ(exported("policy.onnx", 0),
            path("policy") + " exported to " + path("policy.onnx") + '\n');
  EXPECT_NE(content("policy.onnx").find("ArgMax"), std::string::npos);
  exported("policy.safetensors", 0);
  EXPECT_NE(content("policy.safetensors").find("\"value.4.bias\""), std::string::npos);
  exported("legs.h", 0);
  EXPECT_NE(content("legs.h").find("static inline void legs_act("), std::string::npos);
}

TEST_F(PlayExportTest, names_the_formats_for_another_ending) {
  EXPECT_EQ(exported("policy.pt", 1),
            "play: the name of an exported policy must end in .onnx, .safetensors or "
            ".h, which " +
              path("policy.pt") + " does not\n");
  EXPECT_FALSE(fs::exists(folder / "policy.pt"));
}

} // namespace
