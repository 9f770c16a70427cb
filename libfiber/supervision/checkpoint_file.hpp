// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "fiber/bytes.hpp"

namespace fiber::detail {

/// A checkpoint's file, and the one before. Not thread-safe.
class CheckpointFile {
public:
  struct Saved {
    std::string type; ///< As typeid names it.
    Payload value;
  };

  explicit CheckpointFile(std::string path) : path_(std::move(path)) {}

  /// Returns when all of it is on the disk. Throws Error that names the path, and then
  /// load() gives what it gave before.
  void save(const std::string& type, std::span<const std::byte> value);
  /// The newest that is whole; nothing if there is no file. Throws Error that names the
  /// path.
  std::optional<Saved> load() const;

private:
  enum class State { absent, whole, damaged, foreign };

  std::string previous() const { return path_ + ".previous"; }
  void write_beside(const std::string& type, std::span<const std::byte> value) const;
  void keep_previous();
  State read(const std::string& path, Saved& saved) const;
  [[noreturn]] void fail(const char* what, int error) const;
  [[noreturn]] void refuse() const;

  const std::string path_;
  bool is_whole_ = false; ///< What is at `path_`: this process has written it.
};

} // namespace fiber::detail
