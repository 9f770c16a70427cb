// SPDX-License-Identifier: Apache-2.0
// The promise: `fiber cp` says what is wrong with a request before it asks an engine.
#include <gtest/gtest.h>

#include "tests/cli/command.hpp"

namespace fiber::cli {
namespace {

std::string refusal(const Words& words) {
  auto outcome = fiber_command(words, {{"DOCKER_HOST", "unix:///none/docker.sock"}});
  EXPECT_EQ(outcome.code, 1);
  return outcome.err;
}

TEST(Cp, refuses_a_path_that_leaves_the_volume) {
  EXPECT_EQ(refusal({"cp", "docker:data:/a/../../etc", "here"}),
            "fiber: the path /a/../../etc leaves the volume: .. is not allowed\n");
  EXPECT_EQ(refusal({"cp", "here", "docker:data:.."}),
            "fiber: the path .. leaves the volume: .. is not allowed\n");
}

TEST(Cp, needs_one_volume) {
  EXPECT_NE(refusal({"cp", "one", "two"}).find("one of the two must be in a volume"),
            std::string::npos);
  EXPECT_NE(refusal({"cp", "docker:a:/one", "docker:b:/two"})
              .find("must be a path of this machine"),
            std::string::npos);
}

TEST(Cp, needs_an_engine_with_volumes) {
  EXPECT_NE(refusal({"cp", "--backend", "local", "one", "data:/one"})
              .find("cp can't copy to volumes of local"),
            std::string::npos);
}

} // namespace
} // namespace fiber::cli
