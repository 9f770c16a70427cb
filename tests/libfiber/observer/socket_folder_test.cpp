// SPDX-License-Identifier: Apache-2.0
// Promise: a folder of sockets is used only if it is this user's alone.
#include "libfiber/observer/socket_folder.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fiber::observer {
namespace {

class SocketFolder : public testing::Test {
protected:
  void SetUp() override {
    char path[] = "/tmp/fiber-folder-XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    root = path;
  }
  void TearDown() override { std::filesystem::remove_all(root); }

  std::string problem_of_making(const std::string& path) {
    try {
      make_folder(path);
      return "";
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  }

  std::string root;
};

TEST_F(SocketFolder, names_are_plain_words) {
  for (auto* good : {"train", "a", "a.b_c-9", "0"})
    EXPECT_TRUE(is_name(good)) << good;
  for (auto* bad : {"", ".", "-a", ".a", "a/b", "a b", "a\n", "\xc3\xbc"})
    EXPECT_FALSE(is_name(bad)) << bad;
  EXPECT_TRUE(is_name(std::string(40, 'a')));
  EXPECT_FALSE(is_name(std::string(41, 'a')));
  EXPECT_TRUE(is_name(default_name())) << default_name();
  EXPECT_TRUE(default_name().ends_with("-" + std::to_string(::getpid())));
}

TEST_F(SocketFolder, is_made_for_this_user_only) {
  auto path = root + "/fiber";
  EXPECT_EQ(folder_problem(path), missing);
  EXPECT_EQ(problem_of_making(path), "");
  EXPECT_EQ(folder_problem(path), "");
  EXPECT_EQ(problem_of_making(path), ""); // Once more.
  ::chmod(path.c_str(), 0770);
  EXPECT_NE(problem_of_making(path).find("others can enter it"), std::string::npos);
}

TEST_F(SocketFolder, is_no_symbolic_link_and_no_file) {
  auto link = root + "/link", file = root + "/file";
  std::filesystem::create_directory(root + "/there");
  std::filesystem::permissions(root + "/there", std::filesystem::perms::owner_all);
  std::filesystem::create_symlink(root + "/there", link);
  std::ofstream(file) << "x";
  EXPECT_EQ(folder_problem(link), "it is a symbolic link");
  EXPECT_NE(problem_of_making(link).find("it is a symbolic link"), std::string::npos);
  EXPECT_EQ(folder_problem(file), "it is no directory");
}

TEST_F(SocketFolder, for_a_session_is_the_first_that_can_be_used) {
  auto* before = std::getenv("XDG_RUNTIME_DIR");
  auto kept = before ? std::optional<std::string>(before) : std::nullopt;
  ::setenv("XDG_RUNTIME_DIR", root.c_str(), 1);
  EXPECT_EQ(make_session_folder(), root + "/fiber");
  // As on a node of a cluster to which the variable came from the login node.
  ::setenv("XDG_RUNTIME_DIR", (root + "/none").c_str(), 1);
  EXPECT_EQ(make_session_folder(), "/tmp/fiber-" + std::to_string(::geteuid()));
  if (kept)
    ::setenv("XDG_RUNTIME_DIR", kept->c_str(), 1);
  else
    ::unsetenv("XDG_RUNTIME_DIR");
}

TEST_F(SocketFolder, of_another_user_is_refused) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "SKIPPED: only root can give a folder away";
  auto path = root + "/fiber";
  make_folder(path);
  ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
  EXPECT_EQ(folder_problem(path), "it belongs to user 65534");
}

TEST_F(SocketFolder, sockets_are_found_by_name_and_pid) {
  for (auto* name : {"b.20.sock", "b.3.sock", "a.b.1.sock", "x.sock", ".5.sock",
                     "c.0.sock", "c.1x.sock", "d.7"})
    std::ofstream(root + "/" + name) << "";
  auto found = sockets_in(root);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].name, "a.b");
  EXPECT_EQ(found[0].pid, 1);
  EXPECT_EQ(found[1].pid, 3);
  EXPECT_EQ(found[2].path, socket_path(root, "b", 20));
  EXPECT_TRUE(sockets_in(root + "/none").empty());
}

} // namespace
} // namespace fiber::observer
