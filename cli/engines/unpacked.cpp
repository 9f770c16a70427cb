// SPDX-License-Identifier: Apache-2.0
#include "cli/engines/unpacked.hpp"

#include <cerrno>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "base/terminal_text.hpp"
#include "fiber/error.hpp"

namespace fiber::cli {
namespace {

namespace fs = std::filesystem;

constexpr mode_t plain_modes = 0777; // Not set-user-id, set-group-id, sticky.

std::string plain(const std::string& text) {
  return for_terminal(text, Passing::nothing);
}

/// What there is below a private folder, so that nothing of it changes meanwhile.
class Unpacked {
public:
  /// `depth`: how many folders of the copy are above the entry.
  void look_at(const fs::path& entry, const fs::path& name, int depth) {
    struct stat told {};
    if (::lstat(entry.c_str(), &told) != 0)
      fail(name, std::generic_category().message(errno));
    if (S_ISLNK(told.st_mode))
      return look_at_link(entry, name, depth);
    if (S_ISDIR(told.st_mode))
      return look_into(entry, name, depth, told.st_mode);
    if (!S_ISREG(told.st_mode))
      fail(name, "is a device, pipe or socket");
    bytes_ += static_cast<std::size_t>(told.st_size);
    auto& file = files_[{told.st_dev, told.st_ino}];
    ++file.names_here;
    file.names = told.st_nlink;
    file.mode = told.st_mode;
    file.entry = entry;
    file.name = name;
  }

  /// Changes modes, after all entries were looked at. Returns the bytes of all files.
  std::size_t tame() {
    for (auto& [id, file] : files_) {
      if (file.names != file.names_here)
        fail(file.name, "is a hard link to a file outside");
      change_mode(file.entry, file.name, file.mode & plain_modes);
    }
    return bytes_;
  }

private:
  struct File {
    nlink_t names = 0, names_here = 0;
    mode_t mode = 0;
    fs::path entry, name;
  };

  [[noreturn]] static void fail(const fs::path& name, const std::string& problem) {
    throw Error(plain(name.string()) + " " + problem +
                ", so nothing was copied: only files, folders and symlinks that stay in "
                "the copy may come");
  }

  static void change_mode(const fs::path& entry, const fs::path& name, mode_t mode) {
    if (::chmod(entry.c_str(), mode) != 0)
      fail(name, "keeps its mode: " + std::generic_category().message(errno));
  }

  void look_into(const fs::path& entry, const fs::path& name, int depth, mode_t mode) {
    change_mode(entry, name, (mode & plain_modes) | S_IRWXU);
    for (auto& each : fs::directory_iterator(entry))
      look_at(each.path(), name / each.path().filename(), depth + 1);
  }

  /// Each link goes up at first, and not further than to the top of the copy, and then
  /// down. So no chain of links leads out, whatever they lead through.
  static void look_at_link(const fs::path& entry, const fs::path& name, int depth) {
    auto target = fs::read_symlink(entry);
    auto problem = "is a symlink to " + plain(target.string());
    if (depth == 0)
      fail(name, problem + ": copy what it leads to");
    if (target.is_absolute())
      fail(name, problem);
    int folders_above = depth - 1; // Between the folder of the link and the top.
    bool down = false;
    for (auto& part : target)
      if (part != "..")
        down = down || part != ".";
      else if (down || folders_above-- == 0)
        fail(name, problem);
  }

  std::map<std::pair<dev_t, ino_t>, File> files_;
  std::size_t bytes_ = 0;
};

} // namespace

std::size_t tame_unpacked(const std::string& folder) {
  std::vector<fs::path> tops;
  for (auto& entry : fs::directory_iterator(folder))
    tops.push_back(entry.path());
  if (tops.empty())
    throw Error("there is nothing to copy");
  if (tops.size() > 1)
    throw Error("the archive has " + plain(tops[0].filename().string()) + " and " +
                plain(tops[1].filename().string()) +
                " at its top, so nothing was copied: one file or folder may come");
  Unpacked unpacked;
  unpacked.look_at(tops.front(), tops.front().filename(), 0);
  return unpacked.tame();
}

} // namespace fiber::cli
