// SPDX-License-Identifier: Apache-2.0
#include "actors/objects/peer_stream.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace fiber::actors {
namespace {

/// Limits on what is received and not acknowledged. Messages in the other direction
/// acknowledge too, so that these are rarely reached.
constexpr std::uint64_t max_untold = 64;
constexpr std::size_t max_untold_bytes = std::size_t{64} << 10;

} // namespace

// -- sending --

bool PeerStream::number(ObjectMessage& message, bool direct) {
  message.sequence = sent_ + 1;
  message.acknowledged = received_;
  auto kept = direct && message.held.empty();
  if (kept)
    kept_.push_back(message); // Before the number counts: this may throw.
  ++sent_;
  told_ = received_;
  untold_bytes_ = 0;
  return kept;
}

void PeerStream::acknowledged(std::uint64_t upto) {
  acknowledged_ = std::max(acknowledged_, std::min(upto, sent_));
  while (is_open(acknowledged_))
    kept_.pop_front();
}

std::uint64_t PeerStream::unacknowledged() const {
  return kept_.empty() ? 0 : kept_.back().sequence;
}

std::vector<ObjectMessage> PeerStream::again() {
  std::vector<ObjectMessage> messages(std::move_iterator(kept_.begin()),
                                      std::move_iterator(kept_.end()));
  kept_.clear();
  for (auto& message : messages)
    message.acknowledged = received_;
  return messages;
}

bool PeerStream::hold_back(const detail::HeldId& release) {
  if (kept_.empty())
    return false;
  releases_.emplace_back(unacknowledged(), release);
  return true;
}

std::vector<detail::HeldId> PeerStream::due() {
  std::vector<detail::HeldId> releases;
  while (!releases_.empty() && !is_open(releases_.front().first)) {
    releases.push_back(releases_.front().second);
    releases_.pop_front();
  }
  return releases;
}

// -- receiving --

std::vector<ObjectMessage> PeerStream::arrived(ObjectMessage message) {
  acknowledged(message.acknowledged);
  std::vector<ObjectMessage> ready;
  if (message.sequence <= received_)
    return ready; // A copy that was sent again.
  if (message.sequence > received_ + 1) {
    early_.try_emplace(message.sequence, std::move(message));
    return ready;
  }
  ready.push_back(std::move(message));
  for (auto next = early_.begin();
       next != early_.end() && next->first == ready.back().sequence + 1;
       next = early_.erase(next))
    ready.push_back(std::move(next->second));
  received_ = ready.back().sequence;
  for (auto& each : ready)
    untold_bytes_ += each.body.size();
  return ready;
}

void PeerStream::sync(std::uint64_t wanted) {
  wanted_ = std::max(wanted_, wanted);
}

std::optional<std::uint64_t> PeerStream::ack_due() {
  auto asked = wanted_ > 0 && wanted_ <= received_;
  if (!asked && received_ - told_ < max_untold && untold_bytes_ < max_untold_bytes)
    return std::nullopt;
  if (asked)
    wanted_ = 0;
  told_ = received_;
  untold_bytes_ = 0;
  return received_;
}

std::vector<std::uint64_t> PeerStream::end() {
  std::vector<std::uint64_t> parcels;
  for (auto& [sequence, message] : std::exchange(early_, {}))
    if (message.parcel != 0)
      parcels.push_back(message.parcel);
  return parcels;
}

} // namespace fiber::actors
