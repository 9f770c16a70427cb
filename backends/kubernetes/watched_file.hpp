// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <string>

namespace fiber::backends::kubernetes {

/// A small file that others replace now and then, as a projected token is, by another
/// file behind the same symbolic link. Keeps the last content if it can't be read or is
/// empty, which happens while a writer is at it.
class WatchedFile {
public:
  /// An empty path: an empty file that never changes.
  explicit WatchedFile(std::string path);
  /// Reads it if it looks changed (or is told to by `force`), and every minute in any
  /// case. Returns whether the content is another one than before.
  bool refresh(bool force = false);

  const std::string& path() const { return path_; }
  const std::string& text() const { return text_; }
  /// text() without the white space around it.
  std::string trimmed() const;
  /// Why it can't be read; empty if it can.
  const std::string& error() const { return error_; }

private:
  using Clock = std::chrono::steady_clock;
  bool looks_changed();

  std::string path_, text_, error_;
  struct stat seen_ {};
  Clock::time_point read_at_;
  bool read_ = false;
};

} // namespace fiber::backends::kubernetes
