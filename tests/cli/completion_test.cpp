// SPDX-License-Identifier: Apache-2.0
// The promise: shells complete verbs, options, values and files, from the command's own
// table. Each shell runs, and completes a line that is typed.
#include <algorithm>
#include <ostream>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/cli/command.hpp"

namespace fiber::cli {
namespace {

/// How to have a shell complete the line $TYPED and write the result to its stdout.
struct Shell {
  std::string name;
  std::string settings; ///< The file $FOLDER/.NAMErc. It may write to $FOLDER/out.
  std::string command;
  bool whole_line = true; ///< The result has the words before the completed one, too.

  friend void PrintTo(const Shell& shell, std::ostream* out) { *out << shell.name; }
};

const Shell bash{"bash", R"(source <("$COMMAND" completion bash)
told() { printf '%s\n' "$READLINE_LINE" >"$FOLDER/out"; exit; }
bind 'set enable-bracketed-paste off'
bind '"\C-x1": insert-completions'
bind -x '"\C-x2": told'
bind '"\C-x3": "\C-x1\C-x2"'
)",
                 R"(printf '%s\0303' "$TYPED" |
timeout 60 script -qec 'bash --rcfile "$FOLDER/.bashrc" -i' /dev/null >"$FOLDER/log" 2>&1
cat "$FOLDER/out")"};

const Shell zsh{"zsh", R"(autoload -Uz compinit && compinit -u -D
source <("$COMMAND" completion zsh)
every() { _main_complete; compstate[insert]=all compstate[list]= }
zle -C every complete-word every
zle-line-init() {
  BUFFER=$TYPED CURSOR=$#TYPED
  zle every
  print -r -- "$BUFFER" >$FOLDER/out
  exit
}
zle -N zle-line-init
)",
                R"(ZDOTDIR=$FOLDER timeout 60 script -qec 'zsh -d -i' /dev/null \
</dev/null >"$FOLDER/log" 2>&1
cat "$FOLDER/out")"};

const Shell fish{"fish", "$COMMAND completion fish | source\ncomplete -C $TYPED\n",
                 "timeout 60 fish --no-config $FOLDER/.fishrc | cut -f1", false};

class Completion : public testing::TestWithParam<Shell> {
protected:
  void SetUp() override {
    if (shell("command -v " + GetParam().name).code != 0)
      GTEST_SKIP() << "SKIPPED: " << GetParam().name << " is not installed";
  }

  /// Returns all that the last word of `line` is completed to, in order.
  std::string completes(const std::string& line) {
    auto& tried = GetParam();
    TestFolder folder;
    folder.write("." + tried.name + "rc", tried.settings);
    auto outcome = shell(tried.command, {{"COMMAND", FIBER_COMMAND},
                                         {"FOLDER", folder.path("")},
                                         {"TERM", "xterm"},
                                         {"TYPED", line}});
    EXPECT_EQ(outcome.err, "") << folder.read("log");
    std::istringstream text(outcome.out);
    Words words;
    for (std::string word; text >> word;)
      words.push_back(word);
    auto before = std::ranges::count(line, ' ') * (tried.whole_line ? 1 : 0);
    words.erase(words.begin(),
                words.begin() + std::min<std::ptrdiff_t>(before, std::ssize(words)));
    std::ranges::sort(words);
    std::string all;
    for (auto& word : words)
      all += (all.empty() ? "" : " ") + word;
    return all;
  }
};

TEST_P(Completion, completes_verbs) {
  EXPECT_EQ(completes("fiber con"), "config");
  EXPECT_EQ(completes("fiber st"), "status stop");
}

TEST_P(Completion, completes_options_of_the_command) {
  EXPECT_EQ(completes("fiber --ver"), "--version");
}

TEST_P(Completion, completes_options_of_the_verb) {
  EXPECT_EQ(completes("fiber run --bu"), "--build");
  EXPECT_EQ(completes("fiber config --j"), "--json");
}

TEST_P(Completion, completes_values_of_an_option) {
  EXPECT_EQ(completes("fiber run --backend inl"), "inline");
  EXPECT_EQ(completes("fiber doctor loc"), "local");
  EXPECT_EQ(completes("fiber completion "), "bash fish zsh");
}

TEST_P(Completion, completes_values_behind_an_equals_sign) {
  EXPECT_EQ(completes("fiber run --backend=inl"), "--backend=inline");
}

TEST_P(Completion, completes_files_behind_the_dashes) {
  EXPECT_EQ(completes("fiber run -- ls /proc/cpuinf"), "/proc/cpuinfo");
}

TEST_P(Completion, completes_programs_behind_the_dashes) {
  EXPECT_EQ(completes("fiber run -- mkfif"), "mkfifo");
}

TEST_P(Completion, completes_no_options_of_its_own_behind_the_dashes) {
  auto options = completes("fiber run -- ./program --buil");
  EXPECT_EQ(options.find("--build"), std::string::npos) << options;
}

INSTANTIATE_TEST_SUITE_P(Shells, Completion, testing::Values(bash, fish, zsh),
                         [](auto& shell) { return shell.param.name; });

TEST(CompletionVerb, refuses_other_shells) {
  EXPECT_NE(fiber_command({"completion", "tcsh"}).code, 0);
}

} // namespace
} // namespace fiber::cli
