// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/unique_fd.hpp"
#include "fiber/bytes.hpp"

namespace fiber::detail {

/// The file of a checkpoint and its predecessor. Not thread-safe.
class CheckpointFile {
public:
  struct Saved {
    std::string type; ///< type_identity<T>().
    Payload value;
  };

  explicit CheckpointFile(std::string path) : path_(std::move(path)) {}

  /// Writes the value and returns when it is on the disk. Throws Error, naming the path;
  /// load() then returns what it returned before.
  void save(const std::string& type, std::span<const std::byte> value);
  /// Returns the newest undamaged value, or nothing if there is no file. Throws Error,
  /// naming the path.
  std::optional<Saved> load() const;

private:
  enum class State { absent, whole, damaged, foreign };

  std::string previous() const { return path_ + ".previous"; }
  UniqueFd open_beside() const;
  UniqueFd open_to_read(const std::string& path) const;
  void write_beside(const std::string& type, std::span<const std::byte> value) const;
  void keep_previous();
  State read(const std::string& path, Saved& saved) const;
  [[noreturn]] void fail(const char* what, int error) const;
  [[noreturn]] void refuse() const;

  const std::string path_;
  bool is_whole_ = false; ///< This process wrote the file at `path_`, completely.
};

} // namespace fiber::detail
