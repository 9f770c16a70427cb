// SPDX-License-Identifier: Apache-2.0
#include "actors/objects/peers.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "actors/protocol/node_protocol.hpp"
#include "base/log.hpp"

namespace fiber::actors {
namespace {

/// How many calls of end_dying() the link of a process that is gone may stay open. The
/// kernel closes that of a dead process at once, but not that of a machine that is cut
/// off.
constexpr int dying_for = 3;
/// How long a flush waits until this process notices that a link is cut.
constexpr std::chrono::seconds cut_limit{2};

} // namespace

void Peers::connect(std::shared_ptr<wire::Link> driver) {
  std::lock_guard lock(mutex_);
  driver_ = std::move(driver);
}

// -- sending --

void Peers::send(ObjectMessage message, Haste haste) {
  std::shared_ptr<wire::Link> link;
  {
    std::lock_guard lock(mutex_);
    if (dead_.contains(message.to)) // The driver answers that it is gone.
      return send_by_driver_locked(message, haste);
    auto& peer = peers_[message.to];
    if (!peer.stream.number(message, peer.both))
      try {
        return send_by_driver_locked(message, haste);
      } catch (...) { // Otherwise the receiver would wait for that number for ever.
        peer.stream.take_back();
        throw;
      }
    link = peer.link;
  }
  // A message of another thread may overtake this one; the receiver restores the order.
  // If the link is cut, the message is sent again through the driver.
  try {
    actors::send(*link, message, haste);
  } catch (const std::exception& error) {
    log().warn("the link to job {} is closed: {}", message.to, error.what());
    link->close();
  }
}

void Peers::send_by_driver_locked(const ObjectMessage& message, Haste haste) {
  if (driver_)
    actors::send(*driver_, message, haste);
}

bool Peers::release_later(const detail::HeldId& object) {
  std::lock_guard lock(mutex_);
  auto known = peers_.find(object.home);
  if (known == peers_.end() || !known->second.stream.hold_back(object))
    return false;
  if (auto& [process, peer] = *known; peer.link)
    send_op(*peer.link, Op::peer_sync, peer.stream.unacknowledged());
  return true;
}

void Peers::flush(std::uint64_t process, bool promised) {
  std::shared_ptr<wire::Link> link;
  {
    std::lock_guard lock(mutex_);
    auto known = peers_.find(process);
    if (known == peers_.end() || !known->second.both)
      return;
    auto& peer = known->second;
    link = peer.link;
    if (promised) {
      peer.promised = peer.stream.unacknowledged();
      promised_ = true;
    }
  }
  if (link->flush())
    return;
  // The link is cut. Waits until connected() or closed() has sent its messages again.
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, cut_limit, [&] {
    auto known = peers_.find(process);
    return known == peers_.end() || known->second.link != link;
  });
}

void Peers::settle_others(std::uint64_t process) {
  if (!promised_)
    return;
  std::unique_lock lock(mutex_);
  Open open; // Others may go on to send while this waits.
  auto any = false;
  for (auto& [number, peer] : peers_)
    if (peer.stream.is_open(peer.promised)) {
      any = true;
      if (number != process)
        open[number] = peer.promised;
    }
  promised_ = any;
  if (open.empty())
    return;
  sync_locked(open);
  changed_.wait(lock, [&] { return !is_open_locked(open); });
}

bool Peers::settle(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  Open open;
  for (auto& [process, peer] : peers_)
    if (auto number = peer.stream.unacknowledged(); number > 0)
      open[process] = number;
  sync_locked(open);
  return changed_.wait_for(lock, limit, [&] { return !is_open_locked(open); });
}

bool Peers::is_open_locked(const Open& open) const {
  return std::ranges::any_of(open, [&](auto& each) {
    auto peer = peers_.find(each.first);
    return peer != peers_.end() && peer->second.stream.is_open(each.second);
  });
}

void Peers::sync_locked(const Open& open) {
  for (auto& [process, number] : open)
    if (auto& peer = peers_[process]; peer.link)
      send_op(*peer.link, Op::peer_sync, number);
  summon_(); // The thread that leads the reactor may have left it for a while.
}

// -- receiving --

std::vector<ObjectMessage> Peers::arrived(ObjectMessage message) {
  std::lock_guard lock(mutex_);
  if (dead_.contains(message.from) && !peers_.contains(message.from))
    return {};
  auto& peer = peers_[message.from];
  auto ready = peer.stream.arrived(std::move(message));
  look_after_locked(peer);
  changed_.notify_all();
  return ready;
}

std::vector<ObjectMessage> Peers::heard(std::uint64_t process, std::uint64_t link,
                                        const Payload& whole) {
  std::vector<ObjectMessage> ready;
  std::lock_guard lock(mutex_);
  auto known = peers_.find(process);
  if (known == peers_.end() || known->second.number != link || !known->second.link)
    return ready; // The process or the link is gone. A living peer sends again.
  auto& peer = known->second;
  peer.both = true;
  try {
    read_locked(process, peer, whole, ready);
  } catch (const Error& error) {
    log().warn("the link to job {} is closed: it sent what can't be read: {}", process,
               error.what());
    peer.link->close();
  }
  look_after_locked(peer);
  changed_.notify_all();
  return ready;
}

void Peers::read_locked(std::uint64_t process, Peer& peer, const Payload& whole,
                        std::vector<ObjectMessage>& ready) {
  for (Reader reader(whole.bytes()); !reader.empty();)
    switch (auto op = read_op(reader)) {
    case Op::object: {
      auto message = read_object_message(reader, whole);
      if (message.from != process || message.to != self_ || !message.held.empty())
        throw Error("a message that must come by way of the driver");
      auto next = peer.stream.arrived(std::move(message));
      std::move(next.begin(), next.end(), std::back_inserter(ready));
      break;
    }
    case Op::peer_ack:
      peer.stream.acknowledged(reader.get<std::uint64_t>());
      break;
    case Op::peer_sync:
      peer.stream.sync(reader.get<std::uint64_t>());
      break;
    default:
      throw Error("operation " + std::to_string(static_cast<int>(op)) +
                  " is not for a peer");
    }
}

void Peers::look_after_locked(Peer& peer) {
  for (auto& object : peer.stream.due())
    if (driver_)
      send_op(*driver_, Op::object_release, object);
  if (!peer.both)
    return;
  if (auto upto = peer.stream.ack_due())
    send_op(*peer.link, Op::peer_ack, *upto);
}

void Peers::connected(std::uint64_t process, std::uint64_t number,
                      std::shared_ptr<wire::Link> link, bool both) {
  std::lock_guard lock(mutex_);
  if (dead_.contains(process)) // The driver decides that, even if the process lives.
    return link->close();
  auto& peer = peers_[process];
  if (peer.link) { // The peer noticed before this process that the old link is cut.
    peer.link->close();
    cut_locked(peer);
  }
  peer.link = std::move(link);
  peer.number = number;
  peer.both = both;
  if (both) // The first bytes tell the peer that the link may be used.
    send_op(*peer.link, Op::peer_ack, std::uint64_t{0});
}

bool Peers::linked(std::uint64_t process) const {
  std::lock_guard lock(mutex_);
  auto known = peers_.find(process);
  return known != peers_.end() && known->second.link;
}

void Peers::cut_locked(Peer& peer) {
  peer.link = nullptr;
  peer.both = false;
  for (auto& message : peer.stream.again())
    if (driver_ && !peer.dying)
      actors::send(*driver_, message, Haste::now);
  look_after_locked(peer);
  changed_.notify_all();
}

bool Peers::closed(std::uint64_t process, std::uint64_t link) {
  std::lock_guard lock(mutex_);
  auto known = peers_.find(process);
  if (known == peers_.end() || known->second.number != link || !known->second.link)
    return false;
  cut_locked(known->second);
  auto dies = known->second.dying.has_value();
  if (dies)
    forget_locked(known);
  return dies;
}

// -- deaths --

bool Peers::gone(std::uint64_t process) {
  std::lock_guard lock(mutex_);
  dead_.insert(process);
  auto known = peers_.find(process);
  if (known == peers_.end())
    return true;
  auto& peer = known->second;
  if (!peer.link) {
    forget_locked(known);
    return true;
  }
  if (!peer.dying)
    peer.dying = 0;
  return false;
}

/// Drops messages that wait for earlier ones. The driver need not keep their handles.
void Peers::forget_locked(PeersByProcess::iterator peer) {
  for (auto parcel : peer->second.stream.end())
    if (driver_)
      send_op(*driver_, Op::received, parcel);
  peers_.erase(peer);
  changed_.notify_all();
}

bool Peers::dying() const {
  std::lock_guard lock(mutex_);
  return std::any_of(peers_.begin(), peers_.end(),
                     [](auto& each) { return each.second.dying.has_value(); });
}

void Peers::end_dying() {
  std::lock_guard lock(mutex_);
  for (auto& [process, peer] : peers_)
    if (peer.dying && ++*peer.dying >= dying_for)
      peer.link->close();
}

} // namespace fiber::actors
