// SPDX-License-Identifier: Apache-2.0
// The promise: a checkpoint's file holds a complete value or the previous one, whatever
// happens to the disk or to the writing process.
#include "libfiber/supervision/checkpoint_file.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "fiber/error.hpp"

namespace fiber::detail {
namespace {

class CheckpointFileTest : public testing::Test {
protected:
  CheckpointFileTest() {
    std::string folder = testing::TempDir() + "checkpointXXXXXX";
    folder_ = mkdtemp(folder.data());
    path_ = (folder_ / "it").string();
  }
  ~CheckpointFileTest() override { std::filesystem::remove_all(folder_); }

  static std::span<const std::byte> bytes(const std::string& text) {
    return std::as_bytes(std::span(text));
  }
  /// Returns what another run of the program would load; "-" if nothing.
  std::string there() const {
    auto saved = CheckpointFile(path_).load();
    if (!saved)
      return "-";
    auto all = saved->value.bytes();
    return saved->type + ":" +
           std::string(reinterpret_cast<const char*>(all.data()), all.size());
  }
  std::string why(const std::string& value) const {
    try {
      CheckpointFile(path_).save("t", bytes(value));
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  }
  void damage(std::streamoff at) const {
    std::fstream file(path_, std::ios::in | std::ios::out);
    file.seekp(at);
    file.put('\x7f');
  }

  std::filesystem::path folder_;
  std::string path_;
};

TEST_F(CheckpointFileTest, load_returns_the_newest_value) {
  EXPECT_EQ(there(), "-");
  CheckpointFile file(path_);
  file.save("a", bytes("first"));
  EXPECT_EQ(there(), "a:first");
  file.save("b", bytes(""));
  EXPECT_EQ(there(), "b:");
  std::string large(3'000'000, 'x');
  file.save("", bytes(large));
  EXPECT_EQ(there(), ":" + large);
  EXPECT_FALSE(std::filesystem::exists(path_ + ".saving"));
}

TEST_F(CheckpointFileTest, the_file_is_there_while_another_value_is_saved) {
  CheckpointFile file(path_);
  file.save("t", bytes("one"));
  std::atomic<bool> saving = true;
  std::thread saver([&] {
    for (int i = 0; i < 300; ++i)
      file.save("t", bytes("two"));
    saving = false;
  });
  long missing = 0;
  while (saving)
    missing += std::filesystem::exists(path_) ? 0 : 1;
  saver.join();
  EXPECT_EQ(missing, 0);
}

TEST_F(CheckpointFileTest, a_save_without_a_file_keeps_the_previous_one) {
  CheckpointFile file(path_);
  file.save("t", bytes("one"));
  std::filesystem::rename(path_, path_ + ".previous"); // As a save that then failed.
  file.save("t", bytes("two"));
  damage(40);
  EXPECT_EQ(there(), "t:one");
}

TEST_F(CheckpointFileTest, a_damaged_file_is_replaced_by_the_previous_one) {
  CheckpointFile(path_).save("t", bytes("one"));
  CheckpointFile(path_).save("t", bytes("two"));
  auto size = std::filesystem::file_size(path_);
  for (std::streamoff at = 20; at < static_cast<std::streamoff>(size); ++at) {
    damage(at);
    EXPECT_EQ(there(), "t:one") << at;
    std::filesystem::remove(path_);
    CheckpointFile(path_).save("t", bytes("two"));
  }
  for (auto cut = size; cut-- > 0;) {
    std::filesystem::resize_file(path_, cut);
    EXPECT_EQ(there(), "t:one") << cut;
  }
  std::filesystem::remove(path_);
  EXPECT_EQ(there(), "t:one");
}

TEST_F(CheckpointFileTest, replacing_a_damaged_file_keeps_the_previous_one) {
  CheckpointFile(path_).save("t", bytes("one"));
  CheckpointFile(path_).save("t", bytes("two"));
  damage(30);
  CheckpointFile(path_).save("t", bytes("three"));
  EXPECT_EQ(there(), "t:three");
  damage(30);
  EXPECT_EQ(there(), "t:one");
}

TEST_F(CheckpointFileTest, two_damaged_files_are_an_error) {
  CheckpointFile(path_).save("t", bytes("one"));
  damage(30);
  EXPECT_THROW(there(), Error);
  std::filesystem::resize_file(path_, 0);
  EXPECT_THROW(there(), Error);
  EXPECT_EQ(why("two"), "nothing was thrown");
  EXPECT_EQ(there(), "t:two");
}

TEST_F(CheckpointFileTest, foreign_files_are_left_alone) {
  std::ofstream(path_) << "somebody's work of a year";
  EXPECT_THROW(there(), Error);
  EXPECT_EQ(why("one"), path_ + " is no checkpoint of Fiber; it is left as it is");
  EXPECT_EQ(std::filesystem::file_size(path_), 25U);
  EXPECT_FALSE(std::filesystem::exists(path_ + ".saving"));
}

TEST_F(CheckpointFileTest, a_full_disk_leaves_the_checkpoint_as_before) {
  CheckpointFile file(path_);
  file.save("t", bytes("one"));
  file.save("t", bytes("two"));
  auto old_action = std::signal(SIGXFSZ, SIG_IGN);
  rlimit unlimited{};
  getrlimit(RLIMIT_FSIZE, &unlimited);
  auto full = unlimited;
  full.rlim_cur = 1000;
  setrlimit(RLIMIT_FSIZE, &full);
  auto text = why(std::string(2000, 'x'));
  setrlimit(RLIMIT_FSIZE, &unlimited);
  std::signal(SIGXFSZ, old_action);
  EXPECT_EQ(text, "checkpoint " + path_ + " can't be written: File too large");
  EXPECT_EQ(there(), "t:two");
  EXPECT_FALSE(std::filesystem::exists(path_ + ".saving"));
  damage(30);
  EXPECT_EQ(there(), "t:one");
}

TEST_F(CheckpointFileTest, a_failed_save_names_the_file) {
  std::filesystem::create_directory(path_);
  EXPECT_EQ(why("x"), "checkpoint " + path_ + " can't be read: " + path_ +
                        " is not used: it is no plain file");
  EXPECT_FALSE(std::filesystem::exists(path_ + ".saving"));
  path_ = (folder_ / "no" / "folder").string();
  EXPECT_EQ(why("x"),
            "checkpoint " + path_ + " can't be written: No such file or directory");
}

std::filesystem::perms mode_of(const std::filesystem::path& path) {
  return std::filesystem::status(path).permissions();
}

TEST_F(CheckpointFileTest, only_the_owner_can_read_a_checkpoint) {
  CheckpointFile(path_).save("t", bytes("one"));
  CheckpointFile(path_).save("t", bytes("two"));
  using std::filesystem::perms;
  EXPECT_EQ(mode_of(path_), perms::owner_read | perms::owner_write);
}

TEST_F(CheckpointFileTest, a_save_follows_no_link_and_takes_no_shared_file) {
  auto other = folder_ / "other", beside = folder_ / "it.saving";
  std::ofstream(other) << "precious";
  std::filesystem::create_symlink(other, beside);
  EXPECT_NE(why("x").find("it.saving is another user's, or no plain file"),
            std::string::npos);
  std::filesystem::remove(beside);
  std::filesystem::create_hard_link(other, beside);
  EXPECT_NE(why("x").find("no plain file"), std::string::npos);
  std::string text;
  EXPECT_TRUE(std::ifstream(other) >> text);
  EXPECT_EQ(text, "precious");
  std::filesystem::remove(beside);
  std::ofstream(beside) << "left by a save that was killed";
  CheckpointFile(path_).save("t", bytes("x"));
  EXPECT_EQ(there(), "t:x");
}

} // namespace
} // namespace fiber::detail
