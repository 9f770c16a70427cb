// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <string>

namespace fiber::backends::kubernetes {

/// A small file that is replaced now and then, such as a projected token, which is
/// another file behind the same symbolic link. Keeps the last content while the file is
/// unreadable or empty, as it may be during a write.
class WatchedFile {
public:
  /// An empty path stands for an empty file that never changes.
  explicit WatchedFile(std::string path);
  /// Reads the file if it looks changed, at least every minute, and always with `force`.
  /// Returns whether the content has changed.
  bool refresh(bool force = false);

  const std::string& path() const { return path_; }
  const std::string& text() const { return text_; }
  /// Returns text() without surrounding white space.
  std::string trimmed() const;
  /// Returns why the file cannot be read; empty if it can.
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
