// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <utility>

namespace fiber {

/// Returns `fd`, or a duplicate above the standard descriptors 0 to 2 in its place: a
/// program may have closed these, and what is written to a closed standard stream must
/// not end up in a socket. Returns -1 and sets errno if that is not possible.
int above_standard(int fd);
/// Opens /dev/null where a standard descriptor is closed.
void open_standard_descriptors();

/// Owns a file descriptor, which is none of the standard ones.
class UniqueFd {
public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(above_standard(fd)) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    if (fd_ >= 0)
      ::close(fd_);
    fd_ = above_standard(fd);
  }

private:
  int fd_ = -1;
};

} // namespace fiber
