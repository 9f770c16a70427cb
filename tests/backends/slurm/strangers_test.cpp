// SPDX-License-Identifier: Apache-2.0
// The promise: what dead drivers of this user have left is removed. What another user has
// put there is neither believed nor touched.
#include "backends/slurm/strangers.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/planted/another_user.hpp"
#include "tests/planted/temporary_folder.hpp"

namespace fiber::backends::slurm {
namespace {

namespace fs = std::filesystem;

class SlurmStrangers : public testing::Test {
protected:
  SlurmStrangers() {
    write("squeue", "echo '7 fiber-dead.1'; echo '8 fiber-live.1'");
    write("scancel", "echo \"$@\" >>" + (folder_ / "cancelled").string());
    path_ = std::getenv("PATH");
    ::setenv("PATH", (folder_.string() + ":" + path_).c_str(), 1);
  }
  ~SlurmStrangers() override { ::setenv("PATH", path_.c_str(), 1); }

  void write(const std::string& name, const std::string& script) const {
    std::ofstream(folder_ / name) << "#!/bin/sh\n" << script << "\n";
    ::chmod((folder_ / name).c_str(), 0700);
  }
  /// Makes the folder of a session whose driver has died long ago.
  fs::path leave(const std::string& session) const {
    auto folder = folder_ / "base" / session;
    fs::create_directories(folder);
    auto alive = folder / "alive";
    std::ofstream(alive) << "1\n";
    fs::last_write_time(alive, fs::file_time_type::clock::now() - std::chrono::hours(1));
    return folder;
  }
  void remove_them() const {
    Loop loop;
    Commands commands(loop, {"PATH=" + folder_.string() + ":" + path_});
    SessionFolder own((folder_ / "base").string(), "own", std::chrono::seconds(10));
    remove_strangers(commands, own);
  }
  std::string cancelled() const {
    std::string line;
    std::ifstream file(folder_ / "cancelled");
    std::getline(file, line);
    return line;
  }

  const tests::TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
  std::string path_;
};

TEST_F(SlurmStrangers, are_removed_with_their_jobs) {
  auto folder = leave("dead");
  remove_them();
  EXPECT_EQ(cancelled(), "7");
  EXPECT_FALSE(fs::exists(folder));
}

TEST_F(SlurmStrangers, are_only_those_of_this_user) {
  if (!tests::can_be_another_user())
    GTEST_SKIP() << "only root can give folders away";
  auto theirs = leave("live"); // Named as a session of this user that lives elsewhere.
  ASSERT_TRUE(tests::give_away(theirs));
  fs::rename(leave("linked"), folder_ / "linked");
  fs::create_directory_symlink(folder_ / "linked", folder_ / "base" / "dead");
  remove_them();
  EXPECT_EQ(cancelled(), "");
  EXPECT_TRUE(fs::exists(theirs / "alive"));
}

} // namespace
} // namespace fiber::backends::slurm
