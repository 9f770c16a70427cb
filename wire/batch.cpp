// SPDX-License-Identifier: Apache-2.0
#include "wire/batch.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace fiber::wire {
namespace {

constexpr std::size_t scratch_bytes = 64 * 1024;
/// Up to this size a copy is cheaper than another iovec.
constexpr std::size_t copy_limit = 1024;
constexpr std::size_t byte_limit = 256 * 1024;
constexpr std::size_t piece_parts = 4; ///< Largest number of iovecs that a piece adds.

} // namespace

// make_unique would clear the memory.
Batch::Batch() : scratch_(new std::byte[scratch_bytes]) {}

bool Batch::has_room() const {
  return bytes_ < byte_limit && count_ + piece_parts <= parts_.size() &&
         used_ + frame_header_bytes + total_length_bytes + 2 * copy_limit <=
           scratch_bytes;
}

void Batch::add_control(std::span<const std::byte> frames) {
  copy(frames);
}

void Batch::add_piece(StreamId stream, Outgoing& message, std::size_t length) {
  const auto total = message.size();
  const FrameHeader header{FrameType::message, message.sent == 0,
                           message.sent + length == total, stream,
                           static_cast<std::uint32_t>(length)};
  std::array<std::byte, frame_header_bytes + total_length_bytes> bytes;
  encode(header, bytes.data());
  encode_total(total, bytes.data() + frame_header_bytes);
  const bool several = header.first && !header.last;
  copy(std::span(bytes).first(frame_header_bytes + (several ? total_length_bytes : 0)));
  const std::span<const std::byte> head = message.head;
  if (message.sent < head.size()) {
    const auto part =
      head.subspan(message.sent, std::min(length, head.size() - message.sent));
    add(part);
    message.sent += part.size();
    length -= part.size();
  }
  if (length > 0) { // Otherwise the piece ends within the head.
    add(message.body.bytes().subspan(message.sent - head.size(), length));
    message.sent += length;
  }
}

void Batch::keep(Outgoing message) {
  if (message.size() > copy_limit) // Smaller ones were copied.
    kept_.push_back(std::move(message));
}

void Batch::advance(std::size_t count) {
  bytes_ -= count;
  while (count > 0) {
    auto& part = parts_[next_];
    const auto step = std::min(count, part.iov_len);
    part.iov_base = static_cast<std::byte*>(part.iov_base) + step;
    part.iov_len -= step;
    count -= step;
    if (part.iov_len == 0)
      ++next_;
  }
}

void Batch::clear() {
  used_ = next_ = count_ = bytes_ = 0;
  kept_.clear();
}

void Batch::add(std::span<const std::byte> bytes) {
  if (bytes.size() <= copy_limit)
    copy(bytes);
  else
    refer(bytes);
}

void Batch::copy(std::span<const std::byte> bytes) {
  if (bytes.empty())
    return;
  auto* to = scratch_.get() + used_;
  std::memcpy(to, bytes.data(), bytes.size());
  used_ += bytes.size();
  bytes_ += bytes.size();
  if (count_ > next_) {
    auto& last = parts_[count_ - 1];
    if (static_cast<std::byte*>(last.iov_base) + last.iov_len == to) {
      last.iov_len += bytes.size();
      return;
    }
  }
  parts_[count_++] = {to, bytes.size()};
}

void Batch::refer(std::span<const std::byte> bytes) {
  parts_[count_++] = {const_cast<std::byte*>(bytes.data()), bytes.size()};
  bytes_ += bytes.size();
}

} // namespace fiber::wire
