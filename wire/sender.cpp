// SPDX-License-Identifier: Apache-2.0
#include "wire/sender.hpp"

#include <algorithm>
#include <utility>

namespace fiber::wire {
namespace {

/// Control bytes per batch, well below its scratch memory.
constexpr std::size_t control_chunk = 16 * 1024;
/// Limit on a message of appended parts, and its initial capacity.
constexpr std::size_t max_appended = 64 * 1024, min_reserved = 1024;

} // namespace

void Sender::push(StreamId id, Outgoing message) {
  auto& stream = find(id);
  queued_bytes_ += message.size();
  stream.queue.push_back(std::move(message));
  make_ready(stream);
}

bool Sender::append(StreamId id, std::span<const std::byte> head,
                    std::span<const std::byte> part) {
  auto& queue = find(id).queue;
  if (!queue.empty()) {
    auto& last = queue.back();
    if (last.appendable == head.size() && last.sent == 0 &&
        last.head.size() + part.size() <= max_appended &&
        std::ranges::equal(std::span(last.head).first(last.appendable), head)) {
      last.head.insert(last.head.end(), part.begin(), part.end());
      queued_bytes_ += part.size();
      return true;
    }
  }
  Outgoing message;
  message.appendable = head.size();
  message.head.reserve(std::max(min_reserved, head.size() + part.size()));
  message.head.assign(head.begin(), head.end());
  message.head.insert(message.head.end(), part.begin(), part.end());
  push(id, std::move(message));
  return false;
}

bool Sender::credit(StreamId id, std::uint32_t bytes) {
  auto& stream = find(id);
  if (stream.credit + bytes > window_)
    return false;
  stream.credit += bytes;
  make_ready(stream);
  return true;
}

bool Sender::window(std::uint32_t bytes) {
  if (std::exchange(window_known_, true))
    return false;
  const auto more = bytes - window_;
  window_ = bytes;
  for (auto& [id, stream] : streams_) {
    stream.credit += more;
    make_ready(stream);
  }
  return true;
}

void Sender::fill(Batch& batch) {
  if (!control_.empty() && batch.has_room()) {
    const auto count = std::min(control_.size(), control_chunk);
    batch.add_control(std::span(control_).first(count));
    control_.erase(control_.begin(),
                   control_.begin() + static_cast<std::ptrdiff_t>(count));
    if (!control_.empty())
      return; // The cut may divide a frame.
  }
  while (!ready_.empty() && batch.has_room()) {
    auto& stream = *ready_.front();
    const bool more = take_turn(stream, batch);
    ready_.pop_front();
    stream.ready = more;
    if (more)
      ready_.push_back(&stream);
  }
}

void Sender::clear() {
  streams_.clear();
  recent_ = nullptr;
  ready_.clear();
  control_.clear();
  queued_bytes_ = 0;
}

/// Adds one piece of a stream, or short messages up to the size of a piece. Returns
/// whether the stream has more to send now.
bool Sender::take_turn(Stream& stream, Batch& batch) {
  for (std::size_t taken = 0; may_send(stream);) {
    const auto length = next_piece(stream);
    if (taken > 0 && taken + length > piece_bytes_)
      return true;
    if (!batch.has_room())
      return true;
    auto& message = stream.queue.front();
    batch.add_piece(stream.id, message, length);
    stream.credit -= length + piece_cost;
    queued_bytes_ -= length;
    taken += length + piece_cost;
    if (message.sent == message.size()) {
      batch.keep(std::move(message));
      stream.queue.pop_front();
    }
  }
  return false;
}

/// Returns the size of the next piece: at most half a window, because the peer grants
/// credit by half windows and a whole one might never accumulate.
std::size_t Sender::next_piece(const Stream& stream) const {
  const auto& message = stream.queue.front();
  const auto most = std::min<std::size_t>(std::max<std::size_t>(piece_bytes_, 1),
                                          window_ / 2 - piece_cost);
  return std::min(most, message.size() - message.sent);
}

bool Sender::may_send(const Stream& stream) const {
  return !stream.queue.empty() && next_piece(stream) + piece_cost <= stream.credit;
}

void Sender::make_ready(Stream& stream) {
  if (!stream.ready && may_send(stream)) {
    stream.ready = true;
    ready_.push_back(&stream);
  }
}

Sender::Stream& Sender::find(StreamId id) {
  if (recent_ && recent_->id == id)
    return *recent_;
  auto [at, fresh] = streams_.try_emplace(id);
  if (fresh) {
    at->second.id = id;
    at->second.credit = window_;
  }
  recent_ = &at->second;
  return *recent_;
}

} // namespace fiber::wire
