// SPDX-License-Identifier: Apache-2.0
#include "cli/engines/tail.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.hpp"

namespace fiber::cli {

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    auto put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
}

void Tail::show() {
  UniqueFd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  char piece[64 * 1024];
  while (file) {
    auto got = ::pread(file.get(), piece, sizeof piece, static_cast<off_t>(shown_));
    if (got <= 0)
      return;
    shown_ += static_cast<std::size_t>(got);
    write_all(fd_, {piece, static_cast<std::size_t>(got)});
  }
}

} // namespace fiber::cli
