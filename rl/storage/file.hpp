// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

namespace fiber::rl::storage {

/// An open file to write to. All functions throw std::system_error, which names the path.
class File {
public:
  /// `flags` are those of open(2).
  File(std::filesystem::path path, int flags);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// Writes all of it.
  void write(std::string_view content);
  /// Blocks until what was written is on the disk.
  void sync();

private:
  void check(bool good, const char* what) const;

  const std::filesystem::path path_;
  const int fd_;
};

} // namespace fiber::rl::storage
