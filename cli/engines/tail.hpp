// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace fiber::cli {

/// Writes all bytes to a descriptor. Gives up if nobody reads them: the program whose
/// output it is runs on.
void write_all(int fd, std::string_view bytes);

/// Shows a file that another machine writes.
class Tail {
public:
  /// What comes into the file goes to the descriptor.
  Tail(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  /// Shows what is new. Opens the file anew, which a network file system takes as the
  /// question whether it has grown.
  void show();

private:
  std::string path_;
  int fd_;
  std::size_t shown_ = 0;
};

} // namespace fiber::cli
