// SPDX-License-Identifier: Apache-2.0
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

/// CRC-32; `salt` makes that of one file differ from that of another.
std::uint32_t checksum(std::uint32_t salt, std::span<const std::byte> bytes);

/// What stands before each result. It has a checksum of its own, so that its `size` can
/// be relied on.
struct RecordHead {
  static constexpr std::uint32_t begins = 0x524a4246; // "FBJR"

  std::uint32_t marker = begins;
  std::uint32_t head_crc = 0; ///< Of all that follows here.
  std::uint64_t index = 0;    ///< Which task.
  std::uint64_t size = 0;     ///< Of the result, which follows.
  Digest arguments{};
  std::uint32_t result_crc = 0;
  std::uint32_t unused = 0;

  static RecordHead of(std::uint32_t salt, std::uint64_t index, const Digest& arguments,
                       std::span<const std::byte> result);
  /// Was written to the file with this salt, and is whole.
  bool fits(std::uint32_t salt) const;

private:
  std::uint32_t own_crc(std::uint32_t salt) const;
};
static_assert(sizeof(RecordHead) == 48);

/// Goes through the records of a file from front to back, in bounded memory, past what is
/// damaged.
class JournalReader {
public:
  struct Record {
    RecordHead head;
    std::uint64_t offset = 0; ///< Of the head in the file.
  };
  /// Reads what is at `offset` of a file; how much of it there was.
  using Read = std::function<std::size_t(std::uint64_t offset, std::span<std::byte> to)>;

  JournalReader(Read read, std::uint32_t salt, std::uint64_t from, std::uint64_t size)
    : read_(std::move(read)), salt_(salt), at_(from), end_(from), size_(size) {}

  /// The next whole record; nothing at the end.
  std::optional<Record> next();
  /// Stretches between records that are none.
  const std::vector<std::pair<std::uint64_t, std::uint64_t>>& damaged() const {
    return damaged_;
  }
  /// Where the last whole record ends.
  std::uint64_t end() const { return end_; }

private:
  std::span<const std::byte> view(std::uint64_t offset, std::uint64_t n);
  std::optional<RecordHead> head_at(std::uint64_t offset);
  bool is_whole(const RecordHead& head, std::uint64_t offset);
  void skip();

  const Read read_;
  const std::uint32_t salt_;
  std::uint64_t at_;  ///< Where to look.
  std::uint64_t end_; ///< Of the last whole record.
  const std::uint64_t size_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> damaged_;
  Bytes window_;                ///< A part of the file,
  std::uint64_t window_at_ = 0; ///< from here on.
};

} // namespace fiber::detail
