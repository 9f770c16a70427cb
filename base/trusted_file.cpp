// SPDX-License-Identifier: Apache-2.0
#include "base/trusted_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <pwd.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace fiber {
namespace {

namespace fs = std::filesystem;

constexpr int max_links = 16;

bool is_ours(uid_t owner) {
  return owner == ::geteuid() || owner == 0;
}

std::string user_text(uid_t user) {
  return "user " + std::to_string(user);
}

/// Calls one of the functions of getpwuid_r()'s kind with a buffer that is large enough.
template <class Entry, class Call>
bool look_up(std::vector<char>& text, Entry& entry, Call call) {
  constexpr std::size_t first = 1024, largest = 1 << 20;
  Entry* found = nullptr;
  for (text.resize(first); text.size() <= largest; text.resize(2 * text.size()))
    if (call(&entry, text.data(), text.size(), &found) != ERANGE)
      break;
  return found != nullptr;
}

/// Returns whether the group is the user's alone: distributions whose umask is 0002 give
/// each user such a group, with the user's name.
bool is_private_group(gid_t group, uid_t user) {
  std::vector<char> user_buffer, group_buffer;
  passwd owner{};
  struct group entry {};
  if (!look_up(user_buffer, owner,
               [&](auto... rest) { return ::getpwuid_r(user, rest...); }) ||
      !look_up(group_buffer, entry,
               [&](auto... rest) { return ::getgrgid_r(group, rest...); }))
    return false;
  if (std::string_view(owner.pw_name) != entry.gr_name || owner.pw_gid != group)
    return false;
  for (auto** member = entry.gr_mem; *member != nullptr; ++member)
    if (std::string_view(*member) != owner.pw_name)
      return false;
  return true;
}

bool others_can_write(const struct stat& status) {
  return (status.st_mode & S_IWOTH) != 0 ||
         ((status.st_mode & S_IWGRP) != 0 &&
          !is_private_group(status.st_gid, status.st_uid));
}

[[noreturn]] void refuse(std::string_view name, const std::string& why) {
  throw UntrustedFile(std::string(name) + " is not used: " + why);
}

struct stat status_of(int fd, std::string_view name) {
  struct stat status {};
  if (::fstat(fd, &status) != 0)
    throw std::system_error(errno, std::generic_category(), std::string(name));
  return status;
}

/// Returns an error for an owner, or for write bits, that another user has set.
void check_status(const struct stat& status, std::string_view name) {
  if (!is_ours(status.st_uid))
    refuse(name, "it belongs to " + user_text(status.st_uid) + ", and this is " +
                   user_text(::geteuid()));
  if (others_can_write(status))
    refuse(name, "other users can write it; type: chmod go-w " + std::string(name));
}

/// Links of /proc have no path to follow: /dev/stdout leads to one.
bool is_of_proc(int link) {
  struct statfs system {};
  return ::fstatfs(link, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

/// A link that may be followed.
struct Target {
  std::string path;
  bool open_link = false; ///< The link itself is to be opened.
};

/// Returns where the link `path` leads; nothing if it is no link any more.
std::optional<Target> target_of(const std::string& path) {
  UniqueFd link(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!link)
    return {};
  auto status = status_of(link.get(), path);
  if (!S_ISLNK(status.st_mode))
    return {};
  if (!is_ours(status.st_uid))
    refuse(path, "it is a link of " + user_text(status.st_uid) + ", and this is " +
                   user_text(::geteuid()));
  if (is_of_proc(link.get()))
    return Target{path, true};
  std::array<char, PATH_MAX> text{};
  auto size = ::readlinkat(link.get(), "", text.data(), text.size());
  if (size < 0)
    throw std::system_error(errno, std::generic_category(), path);
  auto target = fs::path(std::string_view(text.data(), static_cast<std::size_t>(size)));
  return Target{(fs::path(path).parent_path() / target).string()};
}

void check_kind(const struct stat& status, const std::string& path, int flags,
                TrustOptions options) {
  if (options.devices && (S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode)))
    return; // Whoever may write to a terminal or a pipe does not change this one's text.
  if (!S_ISREG(status.st_mode))
    refuse(path, "it is no plain file");
  check_status(status, path);
  if ((flags & O_ACCMODE) != O_RDONLY && status.st_nlink > 1)
    refuse(path, "it is also a file of another name, which would change too (a hard "
                 "link); copy it");
}

void check_folder_of(const std::string& path) {
  auto folder = fs::path(path).parent_path().string();
  if (folder.empty())
    folder = ".";
  UniqueFd fd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd)
    throw std::system_error(errno, std::generic_category(), folder);
  if (auto status = status_of(fd.get(), folder); !is_ours(status.st_uid))
    refuse(path, "its folder belongs to " + user_text(status.st_uid) + ", and this is " +
                   user_text(::geteuid()));
}

} // namespace

UniqueFd open_trusted(const std::string& path, int flags, TrustOptions options) {
  constexpr int always = O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  const bool create = (flags & O_CREAT) != 0;
  flags &= O_ACCMODE;
  Target at{path};
  for (int links = 0; links < max_links; ++links) {
    const auto& name = at.path;
    UniqueFd fd(::open(name.c_str(), flags | always | (at.open_link ? 0 : O_NOFOLLOW)));
    if (!fd && errno == ENOENT && create) {
      fd.reset(::open(name.c_str(), flags | always | O_CREAT | O_EXCL, 0600));
      if (!fd && errno == EEXIST)
        continue; // Somebody else was faster.
    }
    if (fd) {
      check_kind(status_of(fd.get(), name), name, flags, options);
      if (options.folder)
        check_folder_of(name);
      return fd;
    }
    if (errno != ELOOP)
      return {};
    if (auto target = target_of(name))
      at = std::move(*target);
  }
  errno = ELOOP;
  return {};
}

std::optional<std::string> read_trusted(const std::string& path, TrustOptions options) {
  auto fd = open_trusted(path, O_RDONLY, options);
  if (!fd && errno == ENOENT)
    return {};
  if (!fd)
    throw std::system_error(errno, std::generic_category(), path);
  std::string text;
  std::array<char, 65536> part;
  for (;;) {
    auto n = ::read(fd.get(), part.data(),
                    std::min(part.size(), options.max_bytes - text.size()));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      throw std::system_error(errno, std::generic_category(), path);
    if (n == 0)
      return text;
    text.append(part.data(), static_cast<std::size_t>(n));
  }
}

void check_trusted(int fd, std::string_view name) {
  check_status(status_of(fd, name), name);
}

void check_private_names(const std::string& folder, std::string_view advice) {
  struct stat status {};
  if (::lstat(folder.c_str(), &status) == 0 && S_ISLNK(status.st_mode) &&
      !is_ours(status.st_uid))
    refuse(folder,
           "it is a link of " + user_text(status.st_uid) + "; " + std::string(advice));
  if (::stat(folder.c_str(), &status) != 0)
    throw std::system_error(errno, std::generic_category(), folder);
  if (!is_ours(status.st_uid))
    refuse(folder, "it belongs to " + user_text(status.st_uid) + ", and this is " +
                     user_text(::geteuid()) + "; " + std::string(advice));
  if ((status.st_mode & S_ISVTX) == 0 && others_can_write(status))
    refuse(folder, "other users can rename what is in it; " + std::string(advice));
}

} // namespace fiber
