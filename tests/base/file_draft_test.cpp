// SPDX-License-Identifier: Apache-2.0
// The promise: a file is replaced as a whole, through no link, and nothing is left
// beside.
#include "base/file_draft.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/planted/temporary_folder.hpp"

namespace fiber {
namespace {

namespace fs = std::filesystem;

class FileDraftTest : public testing::Test {
protected:
  static std::string text_of(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::ptrdiff_t count() const {
    return std::distance(fs::directory_iterator(folder_), {});
  }

  const tests::TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path(), file_ = folder_ / "file";
};

TEST_F(FileDraftTest, takes_its_place_when_it_is_whole) {
  replace_file(file_.string(), "old");
  {
    FileDraft draft(file_.string());
    draft.write("ne");
    draft.write("w");
    EXPECT_EQ(text_of(file_), "old");
    draft.publish();
    EXPECT_EQ(text_of(file_), "new");
  }
  EXPECT_EQ(count(), 1);
}

TEST_F(FileDraftTest, that_is_given_up_leaves_what_was_there) {
  replace_file(file_.string(), "old");
  { FileDraft(file_.string()).write("new"); }
  EXPECT_EQ(text_of(file_), "old");
  EXPECT_EQ(count(), 1);
}

TEST_F(FileDraftTest, of_a_process_that_is_killed_leaves_nothing) {
  auto child = ::fork();
  if (child == 0) {
    FileDraft draft(file_.string());
    draft.write("half");
    ::raise(SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(count(), 0);
}

TEST_F(FileDraftTest, replaces_a_link_and_not_what_it_leads_to) {
  auto precious = folder_ / "precious";
  std::ofstream(precious) << "precious";
  fs::create_symlink(precious, file_);
  replace_file(file_.string(), "new");
  EXPECT_EQ(text_of(precious), "precious");
  EXPECT_FALSE(fs::is_symlink(file_));
  EXPECT_EQ(text_of(file_), "new");
}

TEST_F(FileDraftTest, is_this_users_alone_unless_the_file_had_another_mode) {
  auto mode = [&] {
    struct stat status {};
    return ::stat(file_.c_str(), &status) == 0 ? status.st_mode & 07777U : 0U;
  };
  replace_file(file_.string(), "old");
  EXPECT_EQ(mode(), 0600U);
  ::chmod(file_.c_str(), 0644);
  replace_file(file_.string(), "new");
  EXPECT_EQ(mode(), 0644U);
}

TEST_F(FileDraftTest, takes_the_place_of_no_folder_and_no_device) {
  fs::create_directory(file_);
  for (auto& place :
       {file_.string(), std::string("/dev/null"), (folder_ / "no/f").string()})
    try {
      replace_file(place, "x");
      ADD_FAILURE() << place << " was replaced";
    } catch (const std::system_error& error) {
      EXPECT_NE(std::string(error.what()).find(place), std::string::npos);
    }
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

} // namespace
} // namespace fiber
