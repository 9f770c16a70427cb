// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "fiber/bytes.hpp"
#include "fiber/detail/call_name.hpp"

namespace fiber::detail {

/// A journal's file: a head that says of which call it is, then a record for each result,
/// in the order in which they came. docs/journal.md says what stands where.
///
/// Each record has a checksum. What is damaged is not read: its tasks are missing. Not
/// thread-safe.
class JournalFile {
public:
  struct Addition {
    std::uint64_t index = 0;
    Digest arguments{};
    Payload result;
  };

  /// Opens the file and locks it, or makes it; reads it once. Throws ConfigError if it is
  /// of another call, of another format, no journal at all or in use, and Error that
  /// names the path if it can't be read or written.
  JournalFile(std::string path, const CallName& name);

  /// The result of a task, if it is there and whole. Throws ConfigError if the task had
  /// other arguments then. Reads the disk; cheapest if indices go up.
  std::optional<Payload> find(std::uint64_t index, const Digest& arguments);
  /// Appends records. After a failure the file may end in a part of one.
  void append(std::span<const Addition> additions);
  /// Returns when all of it is on the disk.
  void sync();

private:
  struct Place {
    std::uint64_t index = 0, offset = 0, size = 0;
  };
  struct Head;

  void lock();
  static Bytes image(const Head& head);
  bool is_torn(Head own, std::uint64_t size) const;
  void write_head(const Head& head);
  void check_head(const Head& own, std::uint64_t size);
  void read_records(std::uint64_t size);
  void cut_off(std::uint64_t size);
  void put_owner();
  std::size_t read(std::uint64_t offset, std::span<std::byte> to) const;
  void write(std::uint64_t offset, std::span<const std::span<const std::byte>> parts);
  [[noreturn]] void refuse(const std::string& problem, const std::string& valid) const;
  [[noreturn]] void fail(const std::string& what, int error) const;

  std::string path_;
  UniqueFd fd_;
  std::uint32_t salt_ = 0;    ///< Of this file's checksums: bytes of another never fit.
  std::uint64_t end_ = 0;     ///< Where the next record goes.
  std::vector<Place> places_; ///< What was there at the start, by index.
  std::size_t next_ = 0;      ///< In places_: where find() looks first.
};

} // namespace fiber::detail
