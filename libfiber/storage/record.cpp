// SPDX-License-Identifier: Apache-2.0
#include "libfiber/storage/record.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <zlib.h>

namespace fiber::detail {
namespace {

constexpr std::size_t window_size = 1024 * 1024;

} // namespace

std::uint32_t checksum(std::uint32_t salt, std::span<const std::byte> bytes) {
  if (bytes.empty()) // data() may be null, for which zlib returns an initial value.
    return salt;
  return static_cast<std::uint32_t>(
    ::crc32_z(salt, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

RecordHead RecordHead::of(std::uint32_t salt, std::uint64_t index,
                          const Digest& arguments, std::span<const std::byte> result) {
  RecordHead head;
  head.index = index;
  head.size = result.size();
  head.arguments = arguments;
  head.result_crc = checksum(salt, result);
  head.head_crc = head.own_crc(salt);
  return head;
}

bool RecordHead::fits(std::uint32_t salt) const {
  return marker == begins && head_crc == own_crc(salt);
}

std::uint32_t RecordHead::own_crc(std::uint32_t salt) const {
  return checksum(salt,
                  std::as_bytes(std::span(this, 1)).subspan(offsetof(RecordHead, index)));
}

std::optional<JournalReader::Record> JournalReader::next() {
  while (at_ < size_) {
    auto offset = at_;
    auto head = head_at(offset);
    if (!head) {
      skip();
      continue;
    }
    auto after = offset + sizeof(RecordHead);
    if (head->size > size_ - after) { // Truncated: nothing follows.
      at_ = size_;
      return std::nullopt;
    }
    at_ = after + head->size;
    if (!is_whole(*head, after))
      continue;
    if (end_ < offset)
      damaged_.emplace_back(end_, offset);
    end_ = at_;
    return Record{*head, offset};
  }
  return std::nullopt;
}

/// Returns `n` bytes at `offset`, fewer at the end of the file, at most window_size.
std::span<const std::byte> JournalReader::view(std::uint64_t offset, std::uint64_t n) {
  n = std::min({n, size_ - offset, std::uint64_t{window_size}});
  if (offset < window_at_ || offset + n > window_at_ + window_.size()) {
    window_.resize(std::min<std::uint64_t>(window_size, size_ - offset));
    window_.resize(read_(offset, window_));
    window_at_ = offset;
    n = std::min<std::uint64_t>(n, window_.size());
  }
  return std::span(window_).subspan(offset - window_at_, n);
}

std::optional<RecordHead> JournalReader::head_at(std::uint64_t offset) {
  auto bytes = view(offset, sizeof(RecordHead));
  if (bytes.size() < sizeof(RecordHead))
    return std::nullopt;
  std::array<std::byte, sizeof(RecordHead)> image;
  std::copy(bytes.begin(), bytes.end(), image.begin());
  auto head = std::bit_cast<RecordHead>(image);
  return head.fits(salt_) ? std::optional(head) : std::nullopt;
}

/// Returns whether the result at `offset` matches its checksum.
bool JournalReader::is_whole(const RecordHead& head, std::uint64_t offset) {
  auto crc = salt_;
  for (auto left = head.size; left > 0;) {
    auto part = view(offset, left);
    if (part.empty())
      return false;
    crc = checksum(crc, part);
    offset += part.size();
    left -= part.size();
  }
  return crc == head.result_crc;
}

/// Moves on to the next place where a record may begin.
void JournalReader::skip() {
  const auto marker = std::bit_cast<std::array<std::byte, 4>>(RecordHead::begins);
  for (++at_; at_ + sizeof(RecordHead) <= size_;) {
    auto part = view(at_, window_size);
    auto found = std::search(part.begin(), part.end(), marker.begin(), marker.end());
    at_ += static_cast<std::uint64_t>(found - part.begin());
    if (found != part.end())
      return;
    if (part.size() < marker.size())
      break;
    at_ -= marker.size() - 1; // A marker may straddle the end of this part.
  }
  at_ = size_;
}

} // namespace fiber::detail
