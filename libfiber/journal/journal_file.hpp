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

/// The file of a journal: a head that identifies the call, then a record for each result
/// in order of arrival. docs/reference/journal.md gives the layout.
///
/// Each record has a checksum. Damaged records are skipped, and their tasks run again.
/// Not thread-safe.
class JournalFile {
public:
  struct Addition {
    std::uint64_t index = 0;
    Digest arguments{};
    Payload result;
  };

  /// Opens or creates the file, locks it and reads it once. Throws ConfigError if it
  /// belongs to another call, has another format, is no journal or is in use; Error,
  /// naming the path, if it cannot be read or written.
  JournalFile(std::string path, const CallName& name);

  /// Returns the result of a task, if it has an undamaged record. Throws ConfigError if
  /// the task had other arguments then. Reads the disk; cheapest with ascending indices.
  std::optional<Payload> find(std::uint64_t index, const Digest& arguments);
  /// Appends records. After a failure the file may end in a partial record.
  void append(std::span<const Addition> additions);
  /// Returns when all records are on the disk.
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
  /// Seeds the checksums, so that foreign records never match.
  std::uint32_t salt_ = 0;
  std::uint64_t end_ = 0;     ///< Where the next record goes.
  std::vector<Place> places_; ///< Records found when opened, by index.
  std::size_t next_ = 0;      ///< Index in places_ where find() looks first.
};

} // namespace fiber::detail
