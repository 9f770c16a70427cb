// SPDX-License-Identifier: Apache-2.0
// The promise: a plot neither depends on the settings of gnuplot that a user has, nor
// hangs.

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "fiber/rl/checkpoint_file.hpp"
#include "fiber/rl/plot.hpp"

namespace fiber::rl {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class PlotTest : public testing::Test {
protected:
  PlotTest() { fs::create_directories(folder); }

  ~PlotTest() override {
    for (const auto& [name, value] : before_)
      if (value)
        ::setenv(name.c_str(), value->c_str(), 1);
      else
        ::unsetenv(name.c_str());
    fs::remove_all(folder);
  }

  /// Until the end of the test.
  void set(const std::string& name, const std::string& value) {
    const char* before = std::getenv(name.c_str());
    before_.try_emplace(name, before ? std::optional<std::string>(before) : std::nullopt);
    ::setenv(name.c_str(), value.c_str(), 1);
  }

  static std::string content(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// The bytes of a plot of some decimals; nothing if gnuplot could not draw it.
  std::string plot() {
    write_atomically(folder / "a.csv", "step,return\n1000,0.5\n2000,1.75\n3000,1.25\n");
    if (!plot_csv(folder / "a.csv", folder / "a.png", {.title = "A", .solved_at = 1.5},
                  {{.column = 2, .title = "r"}}))
      return {};
    return content(folder / "a.png");
  }

  fs::path folder = fs::path(testing::TempDir()) / ("plot." + std::to_string(getpid()));

private:
  std::map<std::string, std::optional<std::string>> before_;
};

TEST_F(PlotTest, is_the_same_whatever_the_locale_and_the_settings_of_the_user) {
  if (std::system("command -v gnuplot > /dev/null") != 0)
    GTEST_SKIP() << "gnuplot is not installed";
  const auto expected = plot();
  ASSERT_FALSE(expected.empty());
  set("LOCPATH", FIBER_TEST_LOCALES);
  set("LC_ALL", "de_DE.UTF-8");
  EXPECT_EQ(plot(), expected);
  set("HOME", folder.string());
  write_atomically(folder / ".gnuplot", "set decimalsign locale\nset logscale y\n");
  EXPECT_EQ(plot(), expected);
}

TEST_F(PlotTest, ends_where_its_script_waits_for_input) {
  if (std::system("command -v gnuplot > /dev/null") != 0)
    GTEST_SKIP() << "gnuplot is not installed";
  write_atomically(folder / "wait.gnuplot", "pause -1\n");
  EXPECT_TRUE(run_gnuplot(folder / "wait.gnuplot"));
}

TEST_F(PlotTest, may_take_as_long_as_there_are_milliseconds) {
  const auto program = folder / "gnuplot";
  write_atomically(program, "#!/bin/sh\nexec sleep 0.1\n");
  fs::permissions(program, fs::perms::owner_all);
  set("PATH", folder.string() + ":" + std::getenv("PATH"));
  EXPECT_TRUE(run_gnuplot(folder / "a.gnuplot", std::chrono::milliseconds::max()));
}

TEST_F(PlotTest, gives_up_a_gnuplot_that_never_ends) {
  const auto program = folder / "gnuplot";
  write_atomically(program, "#!/bin/sh\necho $$ > \"$2.pid\"\nexec sleep 1000\n");
  fs::permissions(program, fs::perms::owner_all);
  set("PATH", folder.string() + ":" + std::getenv("PATH"));
  const auto script = folder / "a.gnuplot";
  EXPECT_FALSE(run_gnuplot(script, 2s));
  const auto pid = std::atoi(content(script.string() + ".pid").c_str());
  ASSERT_GT(pid, 0);
  EXPECT_EQ(::kill(pid, 0), -1) << "it still runs";
}

} // namespace
} // namespace fiber::rl
