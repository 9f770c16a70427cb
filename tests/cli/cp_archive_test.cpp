// SPDX-License-Identifier: Apache-2.0
// The promise: what a worker has put into a volume never leaves the target of `fiber cp`,
// and gets no right there.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include "cli/engines/unpacked.hpp"
#include "fiber/error.hpp"
#include "tests/cli/command.hpp"
#include "tests/cli/fake_engine.hpp"

namespace fiber::cli {
namespace {

namespace fs = std::filesystem;

/// An entry of a tar archive.
struct Entry {
  std::string name;
  char type =
    '0'; ///< '0' file, '1' hard link, '2' symlink, '3' device, '5' folder, '6' pipe
  std::string link = {}, bytes = {};
  int mode = 0644;
};

std::string octal(unsigned long number, int digits) {
  char text[24];
  std::snprintf(text, sizeof text, "%0*lo", digits, number);
  return text;
}

/// Writes archives that tar would not write.
std::string tar(const std::vector<Entry>& entries) {
  constexpr std::size_t block = 512;
  std::string archive;
  for (auto& entry : entries) {
    std::string head(block, '\0');
    auto put = [&](std::size_t at, const std::string& text) {
      head.replace(at, text.size(), text);
    };
    put(0, entry.name);
    put(100, octal(static_cast<unsigned long>(entry.mode), 7));
    put(108, octal(65532, 7));
    put(116, octal(65532, 7));
    put(124, octal(entry.bytes.size(), 11));
    put(136, octal(0, 11));
    put(148, "        ");
    put(156, std::string(1, entry.type));
    put(157, entry.link);
    put(257, std::string("ustar\00000", 8));
    put(329, octal(1, 7)); // /dev/mem
    put(337, octal(1, 7));
    unsigned long sum = 0;
    for (unsigned char c : head)
      sum += c;
    put(148, octal(sum, 6) + std::string(1, '\0'));
    archive += head + entry.bytes;
    archive.resize((archive.size() + block - 1) / block * block);
  }
  return archive + std::string(2 * block, '\0');
}

class CpArchive : public testing::Test {
protected:
  Outcome copy(const std::string& target, const Words& more = {}) const {
    Words words{"cp", "docker:data:/out", target};
    words.insert(words.end(), more.begin(), more.end());
    return fiber_command(words, engine_.variables());
  }
  /// Expects that an archive is refused in words that name `entry`, and leaves nothing.
  void expect_refusal(const std::vector<Entry>& entries, const std::string& entry) {
    engine_.archive = tar(entries);
    auto outcome = copy(path("copy"));
    EXPECT_EQ(outcome.code, 1) << entry;
    EXPECT_NE(outcome.err.find(entry), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("nothing was copied"), std::string::npos) << outcome.err;
    EXPECT_EQ(names(), std::vector<std::string>()) << entry;
  }
  /// Returns all files in the folder of the target, including hidden ones.
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (auto& each : fs::directory_iterator(path("")))
      found.push_back(each.path().filename().string());
    return found;
  }
  std::string path(const std::string& name) const { return folder_.path(name); }

  TestFolder folder_;
  FakeEngine engine_;
};

mode_t mode_of(const std::string& path) {
  struct stat told {};
  EXPECT_EQ(::lstat(path.c_str(), &told), 0) << path;
  return told.st_mode & 07777;
}

TEST_F(CpArchive, of_files_folders_and_links_that_stay_inside_is_copied) {
  engine_.archive = tar({{"out/", '5', "", "", 0500},
                         {"out/a", '0', "", "hello"},
                         {"out/sub/", '5', "", "", 0755},
                         {"out/sub/up", '2', "../a"},
                         {"out/sub/gone", '2', "../gone/x"},
                         {"out/here", '2', "./sub"},
                         {"out/twin", '1', "out/a"}});
  auto outcome = copy(path("copy"), {"--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("\"bytes\":10,"), std::string::npos) << outcome.out;
  EXPECT_EQ(folder_.read("copy/here/up"), "hello");
  EXPECT_EQ(folder_.read("copy/twin"), "hello");
  EXPECT_EQ(names(), std::vector<std::string>{"copy"});
  EXPECT_EQ(copy(path("copy")).code, 0); // Lands in the folder.
  EXPECT_EQ(folder_.read("copy/out/a"), "hello");
}

TEST_F(CpArchive, with_a_link_at_its_top_is_refused) {
  for (std::string link : {"/", "/etc/passwd", "other", "."})
    expect_refusal({{"out", '2', link}}, "out is a symlink to " + link);
}

TEST_F(CpArchive, that_comes_twice_writes_through_no_link) {
  folder_.write("ssh/out", "the user's own");
  fs::create_symlink(path("ssh"), path("copy")); // As the first copy used to leave it.
  engine_.archive = tar({{"out", '0', "", "evil"}});
  auto outcome = copy(path("copy"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("copy is a symlink, which fiber cp does not follow"),
            std::string::npos)
    << outcome.err;
  EXPECT_EQ(folder_.read("ssh/out"), "the user's own");
  EXPECT_EQ(copy(path("copy/")).code, 0); // The user says so.
  EXPECT_EQ(folder_.read("ssh/out"), "evil");
}

TEST_F(CpArchive, replaces_a_file_and_no_link_in_a_folder) {
  folder_.write("copy/out", "old");
  folder_.write("other", "the user's own");
  engine_.archive = tar({{"out", '0', "", "new"}});
  EXPECT_EQ(copy(path("copy")).code, 0);
  EXPECT_EQ(folder_.read("copy/out"), "new");
  fs::remove(path("copy/out"));
  fs::create_symlink(path("other"), path("copy/out"));
  auto outcome = copy(path("copy"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("copy/out is a symlink"), std::string::npos) << outcome.err;
  EXPECT_EQ(folder_.read("other"), "the user's own");
}

TEST_F(CpArchive, gives_no_rights_and_no_owner) {
  engine_.archive = tar({{"out/", '5', "", "", 07777},
                         {"out/suid", '0', "", "x", 06755},
                         {"out/sticky", '0', "", "x", 01777}});
  ASSERT_EQ(copy(path("copy")).code, 0);
  for (std::string name : {"copy", "copy/suid", "copy/sticky"}) {
    EXPECT_EQ(mode_of(path(name)) & ~mode_t{0755}, 0u) << name;
    struct stat told {};
    ASSERT_EQ(::lstat(path(name).c_str(), &told), 0);
    EXPECT_EQ(told.st_uid, ::geteuid());
  }
}

TEST_F(CpArchive, with_a_device_or_a_pipe_is_refused) {
  if (::geteuid() == 0)
    expect_refusal({{"out/", '5', "", "", 0755}, {"out/mem", '3'}}, "out/mem");
  expect_refusal({{"out/", '5', "", "", 0755}, {"out/pipe", '6'}},
                 "out/pipe is a device, pipe or socket");
  expect_refusal({{"out", '6'}}, "out is a device, pipe or socket");
}

TEST_F(CpArchive, with_a_link_that_leads_outside_is_refused) {
  const Entry top{"out/", '5', "", "", 0755}, sub{"out/sub/", '5', "", "", 0755};
  for (std::string link : {"/etc/passwd", "..", "../x", "../../..", "./.."})
    expect_refusal({top, {"out/link", '2', link}}, "out/link is a symlink to " + link);
  expect_refusal({top, sub, {"out/sub/link", '2', "../../x"}},
                 "out/sub/link is a symlink to ../../x");
  // By way of a link that stays inside.
  expect_refusal({top, sub, {"out/sub/a", '2', ".."}, {"out/sub/b", '2', "a/../x"}},
                 "out/sub/b is a symlink to a/../x");
}

TEST_F(CpArchive, with_a_hard_link_or_a_name_outside_is_refused) {
  const Entry top{"out/", '5', "", "", 0755};
  TestFolder elsewhere;
  elsewhere.write("victim", "the user's own");
  auto victim = elsewhere.path("victim");
  auto from_here = fs::relative(victim, path(".fiber-cp-123456")).string();
  for (auto& link : {victim, from_here})
    expect_refusal({top, {"out/link", '1', link}}, "victim");
  for (std::string name : {"../evil", "out/../../evil"})
    expect_refusal({top, {name, '0', "", "x"}}, "evil");
  expect_refusal({top, {"out/d", '2', "/tmp"}, {"out/d/evil", '0', "", "x"}}, "out/d");
  engine_.archive = tar({{victim, '0', "", "evil"}});
  copy(path("copy")); // At most a file at the place of the copy.
  EXPECT_EQ(elsewhere.read("victim"), "the user's own");
}

TEST_F(CpArchive, is_checked_for_hard_links_even_if_tar_were_deceived) {
  folder_.write("victim", "the user's own");
  folder_.write("unpacked/out/file", "x");
  fs::create_hard_link(path("victim"), path("unpacked/out/link"));
  ASSERT_EQ(::chmod(path("victim").c_str(), 04711), 0);
  try {
    tame_unpacked(path("unpacked"));
    FAIL() << "it was taken";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("out/link is a hard link to a file outside"),
              std::string::npos)
      << error.what();
  }
  EXPECT_EQ(mode_of(path("victim")), 04711u);
}

TEST_F(CpArchive, loses_rights_even_if_tar_left_them) {
  folder_.write("unpacked/out/file", "x");
  ASSERT_EQ(::chmod(path("unpacked/out/file").c_str(), 06755), 0);
  ASSERT_EQ(::chmod(path("unpacked/out").c_str(), 07755), 0);
  EXPECT_EQ(tame_unpacked(path("unpacked")), 1u);
  EXPECT_EQ(mode_of(path("unpacked/out/file")), 0755u);
  EXPECT_EQ(mode_of(path("unpacked/out")), 0755u);
}

TEST_F(CpArchive, of_two_things_is_refused) {
  expect_refusal({{"a", '0', "", "x"}, {"b", '0', "", "x"}}, "at its top");
}

TEST_F(CpArchive, names_entries_as_plain_text) {
  expect_refusal({{"\033]0;title\007out", '2', "/"}}, "is a symlink to /");
  EXPECT_EQ(copy(path("copy")).err.find('\033'), std::string::npos);
}

TEST_F(CpArchive, that_is_too_large_is_refused_before_its_end) {
  engine_.archive = tar({{"out", '0', "", std::string(20 << 20, 'x')}});
  auto outcome = copy(path("copy"), {"--limit", "2M"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("larger than 2 MiB"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("--limit"), std::string::npos) << outcome.err;
  EXPECT_EQ(names(), std::vector<std::string>());
  EXPECT_EQ(copy(path("copy"), {"--limit", "21M"}).code, 0);
  EXPECT_EQ(fs::file_size(path("copy")), std::size_t{20} << 20);
}

TEST_F(CpArchive, is_not_held_in_memory) {
  engine_.archive = tar({{"out", '0', "", std::string(300 << 20, 'x')}});
  auto outcome =
    shell("ulimit -v 600000; exec " FIBER_COMMAND " cp docker:data:/out " + path("copy"),
          engine_.variables());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(fs::file_size(path("copy")), std::size_t{300} << 20);
}

TEST_F(CpArchive, that_is_compressed_or_damaged_is_refused) {
  for (auto* made : {"\x1f\x8b\x08 gzip", "no archive at all"}) {
    engine_.archive = std::string(made) + std::string(2000, 'x');
    auto outcome = copy(path("copy"));
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.err.find("tar can't unpack the archive"), std::string::npos)
      << outcome.err;
    EXPECT_EQ(names(), std::vector<std::string>());
  }
}

} // namespace
} // namespace fiber::cli
