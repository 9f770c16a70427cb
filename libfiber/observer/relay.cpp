// SPDX-License-Identifier: Apache-2.0
#include "libfiber/observer/relay.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/unique_fd.hpp"
#include "fiber/detail/classic_locale.hpp"
#include "libfiber/observer/socket_folder.hpp"

namespace fiber::observer {
namespace {

constexpr timeval reply_limit{.tv_sec = 10, .tv_usec = 0};

/// Returns the strings of a file in /proc, each of which ends with a zero.
std::vector<std::string> strings_of(const std::string& path) {
  fiber::detail::Classic<std::ifstream> file(path, std::ios::binary);
  std::vector<std::string> all;
  for (std::string each; std::getline(file, each, '\0');)
    all.push_back(each);
  return all;
}

/// Returns whether the process is in the same job of Slurm as this one, or neither is in
/// any: sessions of several jobs may have their sockets in one folder.
bool is_in_this_job(pid_t pid) {
  constexpr std::string_view variable = "SLURM_JOB_ID=";
  const char* own = std::getenv("SLURM_JOB_ID");
  std::string theirs;
  for (auto& entry : strings_of("/proc/" + std::to_string(pid) + "/environ"))
    if (entry.starts_with(variable))
      theirs = entry.substr(variable.size());
  return theirs == (own == nullptr ? "" : own);
}

/// Returns a connection to the session at this path, or nothing: it has ended, or is in
/// another job.
UniqueFd connect_to_session(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return {};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ucred peer{};
  socklen_t size = sizeof peer;
  bool there =
    socket &&
    ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
    ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
    is_in_this_job(peer.pid);
  return there ? std::move(socket) : UniqueFd();
}

/// Returns a connection to the session here that began first: its driver has the lowest
/// pid.
UniqueFd connect_to_first() {
  std::vector<SocketFile> files;
  for (auto& folder : socket_folders())
    if (folder_problem(folder).empty())
      for (auto& file : sockets_in(folder))
        files.push_back(file);
  std::ranges::sort(files, {}, &SocketFile::pid);
  for (auto& file : files)
    if (auto socket = connect_to_session(file.path))
      return socket;
  return {};
}

bool write_all_to(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    auto put = ::write(fd, bytes.data(), bytes.size());
    if (put <= 0)
      return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

/// Copies a line from the session to stdout. Returns whether it was complete.
bool copy_reply(int socket) {
  char piece[64 * 1024];
  for (;;) {
    auto got = ::recv(socket, piece, sizeof piece, 0);
    if (got <= 0 || !write_all_to(STDOUT_FILENO, {piece, static_cast<std::size_t>(got)}))
      return false;
    if (piece[got - 1] == '\n')
      return true;
  }
}

int relay(const std::string& request) {
  auto socket = connect_to_first();
  if (!socket) {
    std::fputs("no session of Fiber listens here\n", stderr);
    return 1;
  }
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &reply_limit, sizeof reply_limit);
  if (write_all_to(socket.get(), request + "\n") && copy_reply(socket.get()))
    return 0;
  std::fputs("the session has not replied\n", stderr);
  return 1;
}

/// Before main().
[[maybe_unused]] const bool relay_before_main = [] {
  relay_if_asked();
  return true;
}();

} // namespace

void relay_if_asked() {
  auto words = strings_of("/proc/self/cmdline");
  if (words.size() == 3 && words[1] == relay_option)
    ::_exit(relay(words[2]));
}

} // namespace fiber::observer
