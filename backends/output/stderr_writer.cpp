// SPDX-License-Identifier: Apache-2.0
#include "backends/output/stderr_writer.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace fiber::backends {

void StderrWriter::follow() {
  struct stat now {};
  ::fstat(STDERR_FILENO, &now);
  if (now.st_dev == device_ && now.st_ino == inode_)
    return;
  device_ = now.st_dev;
  inode_ = now.st_ino;
  reopened_.reset();
  mode_ = Mode::plain;
  if (S_ISSOCK(now.st_mode)) {
    mode_ = Mode::socket;
  } else if (S_ISFIFO(now.st_mode) || ::isatty(STDERR_FILENO)) {
    reopened_.reset(
      ::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    mode_ = reopened_ ? Mode::reopened : Mode::polled;
  }
}

int StderrWriter::fd() const {
  return mode_ == Mode::reopened ? reopened_.get() : STDERR_FILENO;
}

std::size_t StderrWriter::write(std::string_view text) {
  follow();
  std::size_t done = 0;
  while (done < text.size()) {
    auto rest = text.substr(done);
    ssize_t written = 0;
    if (mode_ == Mode::socket) {
      written =
        ::send(STDERR_FILENO, rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    } else if (mode_ == Mode::polled) {
      // A ready pipe accepts this many bytes at once.
      pollfd ready{STDERR_FILENO, POLLOUT, 0};
      if (::poll(&ready, 1, 0) == 0)
        return done;
      written =
        ::write(STDERR_FILENO, rest.data(), std::min<std::size_t>(rest.size(), PIPE_BUF));
    } else {
      written = ::write(fd(), rest.data(), rest.size());
    }
    if (written >= 0)
      done += static_cast<std::size_t>(written);
    else if (errno == EAGAIN)
      return done;
    else if (errno != EINTR)
      return text.size();
  }
  return done;
}

} // namespace fiber::backends
