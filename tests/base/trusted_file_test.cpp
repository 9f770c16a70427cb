// SPDX-License-Identifier: Apache-2.0
// The promise: what another user has written, or has put under a name, is not believed.
#include "base/trusted_file.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "tests/planted/another_user.hpp"
#include "tests/planted/temporary_folder.hpp"

namespace fiber {
namespace {

namespace fs = std::filesystem;

class TrustedFile : public testing::Test {
protected:
  TrustedFile() {
    std::ofstream(file_) << "text";
    ::chmod(file_.c_str(), 0644);
  }

  /// Returns why a file is refused; empty if it is not.
  static std::string refused(const fs::path& path, int flags = O_RDONLY,
                             TrustOptions options = {}) {
    try {
      EXPECT_TRUE(open_trusted(path.string(), flags, options)) << path;
    } catch (const UntrustedFile& error) {
      EXPECT_NE(std::string(error.what()).find(path.filename().string()),
                std::string::npos)
        << error.what();
      return error.what();
    }
    return {};
  }
  static void expect_refused(const std::string& why, const std::string& part) {
    EXPECT_NE(why.find(part), std::string::npos) << "'" << why << "'";
  }

  const tests::TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path(), file_ = folder_ / "file";
};

TEST_F(TrustedFile, of_this_user_is_read) {
  EXPECT_EQ(read_trusted(file_.string()), "text");
  EXPECT_EQ(read_trusted((folder_ / "none").string()), std::nullopt);
  EXPECT_EQ(refused(file_, O_RDWR), "");
}

TEST_F(TrustedFile, of_another_user_is_refused) {
  if (!tests::can_be_another_user())
    GTEST_SKIP() << "only root can give files away";
  ASSERT_TRUE(tests::give_away(file_));
  expect_refused(refused(file_), "belongs to user 65534");
  expect_refused(refused(file_, O_RDWR), "belongs to user 65534");
}

TEST_F(TrustedFile, that_others_can_write_is_refused_with_what_to_type) {
  ::chmod(file_.c_str(), 0646);
  expect_refused(refused(file_), "chmod go-w " + file_.string());
}

TEST_F(TrustedFile, that_a_group_can_write_is_refused_unless_the_group_is_the_owners) {
  if (!tests::can_be_another_user())
    GTEST_SKIP() << "only root can give files away";
  ::chmod(file_.c_str(), 0664);
  ASSERT_EQ(::chown(file_.c_str(), 0, tests::another_user), 0);
  expect_refused(refused(file_), "other users can write it");
  ASSERT_EQ(::chown(file_.c_str(), 0, 0), 0);
  EXPECT_EQ(refused(file_), "") << "the group root is the user root's alone";
}

TEST_F(TrustedFile, is_followed_to_only_by_links_of_this_user) {
  auto link = folder_ / "link", over = folder_ / "over";
  fs::create_symlink("file", link);
  fs::create_symlink(link, over);
  EXPECT_EQ(read_trusted(over.string()), "text");
  if (!tests::can_be_another_user())
    GTEST_SKIP() << "only root can give links away";
  ASSERT_TRUE(tests::give_away(link));
  expect_refused(refused(link), "a link of user 65534");
  EXPECT_THROW(read_trusted(over.string()), UntrustedFile);
  EXPECT_THROW(open_trusted(link.string(), O_WRONLY | O_CREAT), UntrustedFile);
}

TEST_F(TrustedFile, in_a_circle_of_links_is_an_error) {
  fs::create_symlink("b", folder_ / "a");
  fs::create_symlink("a", folder_ / "b");
  EXPECT_FALSE(open_trusted((folder_ / "a").string(), O_RDONLY));
  EXPECT_EQ(errno, ELOOP);
}

TEST_F(TrustedFile, with_two_names_is_read_but_not_written) {
  fs::create_hard_link(file_, folder_ / "second");
  EXPECT_EQ(refused(file_), "");
  expect_refused(refused(file_, O_RDWR), "hard link");
}

TEST_F(TrustedFile, in_a_folder_of_another_user_is_refused_where_that_is_asked) {
  if (!tests::can_be_another_user())
    GTEST_SKIP() << "only root can give folders away";
  ASSERT_TRUE(tests::give_away(folder_));
  EXPECT_EQ(refused(file_), "");
  expect_refused(refused(file_, O_RDONLY, {.folder = true}),
                 "folder belongs to user 65534");
}

TEST_F(TrustedFile, that_is_a_pipe_or_a_folder_is_refused_without_a_wait) {
  auto pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_refused(refused(pipe), "no plain file");
  expect_refused(refused(folder_), "no plain file");
  EXPECT_EQ(refused("/dev/null", O_WRONLY, {.devices = true}), "");
  expect_refused(refused("/dev/null", O_WRONLY), "no plain file");
}

TEST_F(TrustedFile, may_be_what_a_descriptor_of_this_process_is) {
  UniqueFd fd(::open(file_.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(read_trusted("/proc/self/fd/" + std::to_string(fd.get())), "text");
}

TEST_F(TrustedFile, is_created_for_this_user_alone) {
  auto created = folder_ / "new", through = folder_ / "through";
  fs::create_symlink("new", through);
  ASSERT_TRUE(open_trusted(through.string(), O_WRONLY | O_CREAT));
  EXPECT_EQ(fs::status(created).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(TrustedFile, names_are_safe_only_where_nobody_else_can_rename_them) {
  auto names = [&] { check_private_names(folder_.string(), "advice"); };
  EXPECT_NO_THROW(names());
  ::chmod(folder_.c_str(), 01777);
  EXPECT_NO_THROW(names()) << "as /tmp";
  ::chmod(folder_.c_str(), 0777);
  EXPECT_THROW(names(), UntrustedFile);
  ::chmod(folder_.c_str(), 0755);
  if (!tests::can_be_another_user())
    GTEST_SKIP() << "only root can give folders away";
  ASSERT_TRUE(tests::give_away(folder_));
  EXPECT_THROW(names(), UntrustedFile);
}

} // namespace
} // namespace fiber
