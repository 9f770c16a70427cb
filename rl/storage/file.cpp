// SPDX-License-Identifier: Apache-2.0
#include "rl/storage/file.hpp"

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace fiber::rl::storage {

File::File(std::filesystem::path path, int flags)
  : path_(std::move(path)), fd_(::open(path_.c_str(), flags | O_CLOEXEC, 0644)) {
  check(fd_ >= 0, "open");
}

File::~File() {
  ::close(fd_);
}

void File::write(std::string_view content) {
  while (!content.empty()) {
    const auto written = ::write(fd_, content.data(), content.size());
    if (written < 0 && errno == EINTR)
      continue;
    check(written >= 0, "write");
    content.remove_prefix(static_cast<std::size_t>(written));
  }
}

void File::sync() {
  check(::fsync(fd_) == 0, "sync");
}

void File::check(bool good, const char* what) const {
  if (!good)
    throw std::system_error(errno, std::generic_category(),
                            std::string("cannot ") + what + ' ' + path_.string());
}

} // namespace fiber::rl::storage
