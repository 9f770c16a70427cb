// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string_view>

#include "base/unique_fd.hpp"

namespace fiber::backends {

/// Writes to this process's stderr without ever waiting for it, be it a stopped terminal
/// or a pipe that nobody reads. Follows a stderr that is redirected meanwhile.
class StderrWriter {
public:
  /// Writes what goes without waiting and returns how much that was; what can't ever be
  /// written (stderr closed) counts as written.
  std::size_t write(std::string_view text);
  /// Wait for this one to become writable when write() wrote less.
  int fd() const;

private:
  enum class Way { plain, own, socket, careful };
  void follow();

  Way way_ = Way::plain;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  UniqueFd own_; // Opened anew: O_NONBLOCK on the original would hit all who share it.
};

} // namespace fiber::backends
