// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string_view>

#include "base/unique_fd.hpp"

namespace fiber::backends {

/// Writes to this process's stderr without ever blocking, even on a stopped terminal or
/// an unread pipe. Notices if stderr is redirected.
class StderrWriter {
public:
  /// Writes as much as possible without waiting and returns how much. Text that can never
  /// be written (stderr closed) counts as written.
  std::size_t write(std::string_view text);
  /// Returns the descriptor to poll after a partial write().
  int fd() const;

private:
  enum class Mode { plain, reopened, socket, polled };
  void follow();

  Mode mode_ = Mode::plain;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  UniqueFd reopened_; // Reopened: O_NONBLOCK on the original would affect all its users.
};

} // namespace fiber::backends
