// SPDX-License-Identifier: Apache-2.0
#include "cli/engines/unpacking.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/engine/child_process.hpp"
#include "backends/engine/message_channel.hpp"
#include "backends/engine/spawn.hpp"
#include "base/terminal_text.hpp"
#include "cli/engines/unpacked.hpp"
#include "fiber/error.hpp"

namespace fiber::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, int error) {
  throw Error("can't write " + path + ": " + std::generic_category().message(error));
}

bool is_link(const fs::path& path) {
  return fs::is_symlink(fs::symlink_status(path));
}

/// Returns the path of an open folder, whatever becomes of its name. Children of this
/// process have it too.
std::string path_of(const UniqueFd& folder) {
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(folder.get());
}

/// 10737418240 becomes "10 GiB".
std::string in_words(std::uint64_t bytes) {
  const char* const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (unit < 4 && bytes > 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + " " + units[unit];
}

} // namespace

Unpacking::Unpacking(const std::string& target, const std::string& name,
                     std::uint64_t limit)
  : limit_(limit) {
  choose_place(target, name);
  auto pattern = path_of(place_) + "/.fiber-cp-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) // Of mode 0700.
    fail(shown_, errno);
  folder_ = pattern;
  try {
    start_tar();
  } catch (...) {
    fs::remove_all(folder_);
    throw;
  }
}

Unpacking::~Unpacking() {
  if (tar_ > 0) {
    ::kill(tar_, SIGKILL);
    await_tar();
  }
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void Unpacking::choose_place(const std::string& target, const std::string& name) {
  auto path = fs::absolute(target).lexically_normal();
  bool slash = !path.has_filename();
  if (slash)
    path = path.parent_path();
  if (!slash && is_link(path))
    throw Error(target + " is a symlink, which fiber cp does not follow; write " +
                target + "/ to copy into the folder that it leads to");
  bool into = fs::is_directory(path);
  if (slash && !into)
    throw Error(target + " is no folder");
  shown_ = (into ? path / name : path).string();
  name_ = into ? name : path.filename().string();
  auto folder = into ? path : path.parent_path();
  int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (into && !slash ? O_NOFOLLOW : 0);
  place_ = UniqueFd(::open(folder.c_str(), flags));
  if (!place_)
    fail(shown_, errno);
  struct stat there {};
  if (::fstatat(place_.get(), name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISLNK(there.st_mode))
    throw Error(shown_ + " is a symlink, which fiber cp does not replace; remove it, or "
                         "choose another target");
}

void Unpacking::start_tar() {
  auto [ours, theirs] = backends::local::make_socket_pair(SOCK_STREAM);
  UniqueFd nothing(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  words_ = UniqueFd(::memfd_create("fiber-tar", MFD_CLOEXEC));
  // By stdin, so that tar does not look for a compressed archive.
  std::vector<std::string> words{
    "tar",         "--extract", "--file=-", "--no-same-owner", "--no-same-permissions",
    "--directory", folder_};
  int error = backends::spawn_child({.executable = words.front(),
                                     .argv = words,
                                     .environment = backends::environment_with({}),
                                     .input = theirs.get(),
                                     .output = nothing.get(),
                                     .errors = words_.get()},
                                    tar_);
  if (error != 0) {
    tar_ = 0;
    throw Error("can't start tar: " + std::generic_category().message(error));
  }
  input_ = std::move(ours);
}

bool Unpacking::take(std::string_view piece) {
  taken_ += piece.size();
  if (taken_ > limit_) {
    too_large_ = true;
    return false;
  }
  while (!piece.empty()) {
    auto sent = ::send(input_.get(), piece.data(), piece.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR)
      return false; // tar has ended: finish() says why.
    piece.remove_prefix(static_cast<std::size_t>(sent < 0 ? 0 : sent));
  }
  return true;
}

void Unpacking::await_tar() {
  input_.reset();
  while (::waitpid(tar_, &exit_status_, 0) < 0 && errno == EINTR)
    ;
  tar_ = 0;
}

std::size_t Unpacking::finish() {
  if (too_large_)
    throw Error("the copy is larger than " + in_words(limit_) +
                ", so nothing was copied; --limit sets how large it may be");
  await_tar();
  if (exit_status_ != 0) {
    std::string words(4096, '\0');
    auto got = ::pread(words_.get(), words.data(), words.size(), 0);
    words.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    throw Error(
      "tar can't unpack the archive, so nothing was copied: " +
      for_terminal(words.empty() ? "no reason was given" : words, Passing::nothing));
  }
  auto bytes = tame_unpacked(folder_);
  auto top = fs::directory_iterator(folder_)->path();
  if (::renameat(AT_FDCWD, top.c_str(), place_.get(), name_.c_str()) != 0)
    fail(shown_, errno);
  return bytes;
}

} // namespace fiber::cli
