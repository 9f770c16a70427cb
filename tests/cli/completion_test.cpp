// SPDX-License-Identifier: Apache-2.0
// The promise: shells complete verbs, options and values, from the command's own table.
#include <gtest/gtest.h>

#include "tests/cli/command.hpp"

namespace fiber::cli {
namespace {

/// Returns what bash completes `line` to, one word a line.
std::string bash_completes(const std::string& line) {
  auto words = "set -- " + line + "; COMP_WORDS=(\"$@\")";
  auto outcome = shell("bash -c 'source <(" FIBER_COMMAND " completion bash); " + words +
                       "; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _fiber; printf "
                       "\"%s\\n\" \"${COMPREPLY[@]}\"'");
  EXPECT_EQ(outcome.err, "");
  return outcome.out;
}

TEST(Completion, bash_completes_verbs) {
  EXPECT_EQ(bash_completes("fiber con"), "config\n");
}

TEST(Completion, bash_completes_options_of_the_verb) {
  EXPECT_EQ(bash_completes("fiber run --bu"), "--build\n");
  EXPECT_EQ(bash_completes("fiber config --j"), "--json\n");
}

TEST(Completion, bash_completes_values_of_an_option) {
  EXPECT_EQ(bash_completes("fiber run --backend inl"), "inline\n");
  EXPECT_EQ(bash_completes("fiber doctor loc"), "local\n");
}

TEST(Completion, bash_completes_files_behind_the_dashes) {
  EXPECT_EQ(bash_completes("fiber run -- /proc/cpuinf"), "/proc/cpuinfo\n");
}

TEST(Completion, refuses_other_shells) {
  EXPECT_NE(fiber_command({"completion", "tcsh"}).code, 0);
}

} // namespace
} // namespace fiber::cli
