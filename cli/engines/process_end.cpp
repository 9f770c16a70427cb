// SPDX-License-Identifier: Apache-2.0
#include "cli/engines/process_end.hpp"

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <map>
#include <system_error>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fiber/error.hpp"
#include "libfiber/observer/process_stat.hpp"

namespace fiber::cli {
namespace {

std::multimap<pid_t, pid_t> children_by_parent() {
  std::multimap<pid_t, pid_t> children;
  std::error_code none;
  for (auto& entry : std::filesystem::directory_iterator("/proc", none)) {
    auto name = entry.path().filename().string();
    pid_t pid = 0;
    auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc() && *rest == '\0')
      if (auto stat = observer::stat_of(pid))
        children.emplace(stat->parent, pid);
  }
  return children;
}

} // namespace

std::optional<Process> Process::open(pid_t pid) {
  // By number: the C library of Debian 12 has no header for these calls.
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!fd)
    return std::nullopt;
  return Process(pid, std::move(fd));
}

bool Process::await_end(std::chrono::milliseconds limit) const {
  auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(
      end - std::chrono::steady_clock::now());
    pollfd wait{fd_.get(), POLLIN, 0};
    auto ready = ::poll(&wait, 1, left.count() > 0 ? static_cast<int>(left.count()) : 0);
    if (ready > 0)
      return true;
    if (ready == 0 && left.count() <= 0)
      return false;
  }
}

void Process::send(int signal) const {
  if (::syscall(SYS_pidfd_send_signal, fd_.get(), signal, nullptr, 0) != 0 &&
      errno != ESRCH)
    throw Error("process " + std::to_string(pid_) +
                " can't be ended: " + std::generic_category().message(errno));
}

std::vector<Process> descendants_of(pid_t pid) {
  auto children = children_by_parent();
  std::vector<pid_t> todo{pid};
  std::vector<Process> found;
  while (!todo.empty()) {
    auto [first, last] = children.equal_range(todo.back());
    todo.pop_back();
    for (; first != last; ++first) {
      todo.push_back(first->second);
      if (auto process = Process::open(first->second))
        found.push_back(std::move(*process));
    }
  }
  return found;
}

} // namespace fiber::cli
