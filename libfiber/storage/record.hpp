// SPDX-License-Identifier: Apache-2.0
// storage/ reads and writes journal records and checksums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fiber/byte_stream.hpp"

namespace fiber::detail {

/// Returns the CRC-32 seeded with `salt`, which differs from file to file.
std::uint32_t checksum(std::uint32_t salt, std::span<const std::byte> bytes);

/// The head of a record, before each result. It has a checksum of its own, so that `size`
/// can be trusted.
struct RecordHead {
  static constexpr std::uint32_t begins = 0x524a4246; // "FBJR"

  std::uint32_t marker = begins;
  std::uint32_t head_crc = 0; ///< Covers the fields below.
  std::uint64_t index = 0;    ///< The task's index.
  std::uint64_t size = 0;     ///< Size of the result, which follows.
  Digest arguments{};
  std::uint32_t result_crc = 0;
  std::uint32_t unused = 0;

  static RecordHead of(std::uint32_t salt, std::uint64_t index, const Digest& arguments,
                       std::span<const std::byte> result);
  /// Returns whether the head is undamaged and belongs to the file with this salt.
  bool fits(std::uint32_t salt) const;

private:
  std::uint32_t own_crc(std::uint32_t salt) const;
};
static_assert(sizeof(RecordHead) == 48);

/// Reads the records of a file in order, in bounded memory, and skips damaged ones.
class JournalReader {
public:
  struct Record {
    RecordHead head;
    std::uint64_t offset = 0; ///< Offset of the head in the file.
  };
  /// Reads from `offset` of the file. Returns the number of bytes read.
  using Read = std::function<std::size_t(std::uint64_t offset, std::span<std::byte> to)>;

  JournalReader(Read read, std::uint32_t salt, std::uint64_t from, std::uint64_t size)
    : read_(std::move(read)), salt_(salt), at_(from), end_(from), size_(size) {}

  /// Returns the next undamaged record, or nothing at the end.
  std::optional<Record> next();
  /// Returns the damaged ranges between records.
  const std::vector<std::pair<std::uint64_t, std::uint64_t>>& damaged() const {
    return damaged_;
  }
  /// Returns where the last undamaged record ends.
  std::uint64_t end() const { return end_; }

private:
  std::span<const std::byte> view(std::uint64_t offset, std::uint64_t n);
  std::optional<RecordHead> head_at(std::uint64_t offset);
  bool is_whole(const RecordHead& head, std::uint64_t offset);
  void skip();

  const Read read_;
  const std::uint32_t salt_;
  std::uint64_t at_;  ///< Read position.
  std::uint64_t end_; ///< End of the last undamaged record.
  const std::uint64_t size_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> damaged_;
  Bytes window_;                ///< Cached part of the file.
  std::uint64_t window_at_ = 0; ///< Its offset in the file.
};

} // namespace fiber::detail
