// SPDX-License-Identifier: Apache-2.0
#include "base/unique_fd.hpp"

#include <cerrno>

#include <fcntl.h>

namespace fiber {

int above_standard(int fd) {
  if (fd < 0 || fd > STDERR_FILENO)
    return fd;
  const auto flags = ::fcntl(fd, F_GETFD);
  const auto above =
    ::fcntl(fd, (flags & FD_CLOEXEC) != 0 ? F_DUPFD_CLOEXEC : F_DUPFD, STDERR_FILENO + 1);
  const auto error = errno;
  ::close(fd);
  errno = error;
  return above;
}

void open_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) // open() takes the lowest free one.
      ::open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY);
}

} // namespace fiber
