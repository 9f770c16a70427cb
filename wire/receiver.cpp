// SPDX-License-Identifier: Apache-2.0
#include "wire/receiver.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace fiber::wire {
namespace {

constexpr std::size_t buffer_bytes = 256 * 1024;
/// A piece with more missing bytes than this is received into the message itself.
constexpr std::size_t direct_threshold = 16 * 1024;
constexpr std::size_t direct_limit = 256 * 1024;
/// Limit on read-ahead in that case: bytes in the buffer must be copied later.
constexpr std::size_t read_ahead = 4096;
/// Memory that is reserved for a message on the peer's word alone.
constexpr std::size_t trusted_bytes = 1024 * 1024;
/// A few more than any program of ours uses. Each may hold trusted_bytes.
constexpr std::size_t stream_limit = 8;

} // namespace

Receiver::Receiver(ReceiverSink& sink, const LinkOptions& options)
  : sink_(sink), window_(usable_window(options)), message_limit_(options.message_limit),
    // make_unique would clear, and so touch, 256 KiB per link.
    buffer_(new std::byte[buffer_bytes]) {}

Receiver::Space Receiver::space() {
  if (piece_ && left_ > direct_threshold && available() == 0) {
    begin_ = end_ = 0;
    direct_ = std::min(left_, direct_limit); // The peer may announce a long piece too.
    return {room_for(direct_), {buffer_.get(), direct_ == left_ ? read_ahead : 0}};
  }
  if (begin_ == end_) {
    begin_ = end_ = 0;
  } else if (buffer_bytes - end_ < buffer_bytes / 4) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, available());
    end_ -= std::exchange(begin_, 0);
  }
  return {std::span(buffer_.get() + end_, buffer_bytes - end_), {}};
}

bool Receiver::commit(std::size_t count) {
  if (const auto lent = std::exchange(direct_, 0); lent > 0) {
    const auto filled = std::min(count, lent);
    piece_->filled += filled;
    left_ -= filled;
    count -= filled;
  }
  end_ += count;
  return parse() != Step::failed;
}

std::size_t Receiver::held_bytes() const {
  std::size_t sum = 0;
  for (const auto& [id, stream] : streams_)
    sum += stream.message.capacity();
  return sum;
}

Receiver::Step Receiver::parse() {
  while (true) {
    if (piece_) {
      take(std::min(left_, available()));
      if (left_ > 0)
        return Step::more;
      if (end_piece() == Step::failed)
        return Step::failed;
      continue;
    }
    if (available() < frame_header_bytes)
      return Step::more;
    const auto header = decode(buffer_.get() + begin_, error_);
    if (!header)
      return Step::failed;
    const auto step =
      header->type == FrameType::message ? begin_piece(*header) : control(*header);
    if (step != Step::done)
      return step;
  }
}

Receiver::Step Receiver::control(const FrameHeader& header) {
  switch (header.type) {
  case FrameType::credit:
    if (!sink_.credit(header.stream, header.length))
      return fail("more credit than the window");
    break;
  case FrameType::window:
    if (!sink_.window(header.length))
      return fail("a second window frame");
    break;
  case FrameType::goodbye: {
    if (available() < frame_header_bytes + header.length)
      return Step::more;
    const auto* text = reinterpret_cast<const char*>(buffer_.get() + begin_);
    sink_.goodbye(std::string(text + frame_header_bytes, header.length));
    begin_ += header.length;
    break;
  }
  case FrameType::hello:
  case FrameType::refuse:
    return fail("a handshake frame on an open link");
  case FrameType::heartbeat:
  case FrameType::message:
    break;
  }
  begin_ += frame_header_bytes;
  return Step::done;
}

Receiver::Step Receiver::begin_piece(const FrameHeader& header) {
  const bool several = header.first && !header.last;
  const auto size = frame_header_bytes + (several ? total_length_bytes : 0);
  if (available() < size)
    return Step::more;
  auto* stream = find(header.stream);
  if (!stream)
    return fail("too many streams");
  if (header.first == stream->open)
    return fail(header.first ? "a message within a message" : "a piece of no message");
  if (stream->consumed + header.length + piece_cost > window_)
    return fail("credit overrun");
  if (header.first) {
    stream->total =
      several ? decode_total(buffer_.get() + begin_ + frame_header_bytes) : header.length;
    if (stream->total > message_limit_)
      return fail("a message of " + std::to_string(stream->total) +
                  " bytes, over the limit");
    stream->open = true;
  }
  const auto missing = stream->total - stream->filled;
  if (header.length > missing || header.last != (header.length == missing))
    return fail("pieces that do not add up");
  if (header.length == 0 && !(header.first && header.last))
    return fail("an empty piece");
  begin_ += size;
  header_ = header;
  piece_ = stream;
  left_ = header.length;
  return Step::done;
}

void Receiver::take(std::size_t count) {
  if (count == 0)
    return;
  std::memcpy(room_for(count).data(), buffer_.get() + begin_, count);
  piece_->filled += count;
  begin_ += count;
  left_ -= count;
}

/// Returns the place of the message's next `count` bytes. Allocates a small announced
/// length at once; otherwise grows geometrically with the bytes received.
std::span<std::byte> Receiver::room_for(std::size_t count) {
  auto& message = piece_->message;
  const auto filled = piece_->filled, needed = filled + count;
  if (needed > message.size()) {
    const auto ahead = std::max({needed, trusted_bytes, 4 * filled});
    const auto size = std::min<std::uint64_t>(piece_->total, ahead);
    message.resize(size);
  }
  return std::span(message).subspan(filled, count);
}

Receiver::Step Receiver::end_piece() {
  auto& stream = *std::exchange(piece_, nullptr);
  if (header_.last) {
    stream.open = false;
    stream.message.resize(std::exchange(stream.filled, 0));
    if (!sink_.message(header_.stream, std::exchange(stream.message, {})))
      return Step::failed;
  }
  return consume(header_.stream, stream, header_.length + piece_cost);
}

Receiver::Step Receiver::consume(StreamId id, Stream& stream, std::uint64_t cost) {
  stream.consumed += cost;
  if (stream.consumed >= window_ / 2)
    sink_.grant(id, static_cast<std::uint32_t>(std::exchange(stream.consumed, 0)));
  return Step::done;
}

Receiver::Stream* Receiver::find(StreamId id) {
  if (recent_ && recent_id_ == id)
    return recent_;
  if (streams_.size() >= stream_limit && !streams_.contains(id))
    return nullptr;
  recent_id_ = id;
  recent_ = &streams_[id];
  return recent_;
}

Receiver::Step Receiver::fail(std::string reason) {
  error_ = std::move(reason);
  return Step::failed;
}

} // namespace fiber::wire
