// SPDX-License-Identifier: Apache-2.0
#include "actors/objects/peer_introductions.hpp"

#include <algorithm>
#include <random>

#include "base/log.hpp"
#include "wire/own_address.hpp"

namespace fiber::actors {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t much_messages = 16, much_bytes = std::size_t{64} << 10;
/// The most direct links of a job: each costs it a file descriptor.
constexpr std::size_t max_peers = 64;
constexpr std::chrono::seconds first_pause{5};
constexpr std::size_t max_doublings = 6; ///< Of the pause.

} // namespace

PeerSecret fresh_secret() {
  std::random_device random;
  PeerSecret secret{};
  for (auto& half : secret)
    half = (std::uint64_t{random()} << 32) + random();
  return secret;
}

void write(Writer& writer, const PeerCall& call) {
  writer.put(call.peer);
  writer.put(call.secret);
  writer.text(call.host);
  writer.put(call.port);
  writer.put(call.share);
  writer.put(call.digest);
}

PeerCall read_peer_call(Reader& reader) {
  PeerCall call;
  call.peer = reader.get<std::uint64_t>();
  call.secret = reader.get<PeerSecret>();
  call.host = reader.text();
  call.port = reader.get<std::uint16_t>();
  call.share = reader.get<std::uint64_t>();
  call.digest = reader.get<detail::Digest>();
  return call;
}

std::optional<PeerCall> call_to_dial(std::uint64_t process, const PeerCall& call,
                                     const std::string& link_host, bool tunnels) {
  if (call.host.empty())
    return std::nullopt;             // It can't listen.
  const auto local = call.port == 0; // Then the name leads to no other kind of socket.
  const auto hidden = tunnels && !link_host.empty() && wire::is_own_address(link_host);
  if (local ? !link_host.empty() : !hidden && call.host != link_host) {
    log().debug("job {} gets no direct link: it listens at '{}', and its link to the "
                "driver comes from '{}'",
                process, call.host, link_host);
    return std::nullopt;
  }
  return PeerCall{.to = call.peer,
                  .peer = process,
                  .secret = call.secret,
                  .host = call.host,
                  .port = call.port,
                  .share = call.share};
}

std::optional<PeerCall> PeerIntroductions::passed_on(const ObjectMessage& message,
                                                     Clock::time_point now) {
  if (!message.held.empty())
    return std::nullopt; // The driver relays messages with handles in any case.
  auto& pair = pairs_[key(message.from, message.to)];
  ++pair.messages;
  pair.bytes += message.body.size();
  if ((pair.messages < much_messages && pair.bytes < much_bytes) || now < pair.again)
    return std::nullopt;
  auto& of_from = told_[message.from];
  auto& of_to = told_[message.to];
  if (!of_from.contains(message.to) &&
      (of_from.size() >= max_peers || of_to.size() >= max_peers))
    return std::nullopt;
  of_from.insert(message.to);
  of_to.insert(message.from);
  // The job with more peers probably listens already, and will have more of them.
  auto from_listens = of_from.size() > of_to.size();
  auto listener = from_listens ? message.from : message.to;
  auto pause = first_pause * (1 << std::min(pair.told, max_doublings));
  pair = {.messages = 0,
          .bytes = 0,
          .told = pair.told + 1,
          .again = now + pause,
          .listener = listener,
          .secret = fresh_secret()};
  return PeerCall{.to = listener,
                  .peer = from_listens ? message.to : message.from,
                  .secret = pair.secret};
}

std::optional<PeerCall> PeerIntroductions::listens(std::uint64_t process,
                                                   const PeerCall& call,
                                                   const std::string& link_host) {
  auto known = pairs_.find(key(process, call.peer));
  if (known == pairs_.end() || known->second.listener != process ||
      known->second.secret != call.secret)
    return std::nullopt; // One of the jobs is gone, or the answer is late.
  return call_to_dial(process, call, link_host, tunnels_);
}

void PeerIntroductions::gone(std::uint64_t process) {
  auto known = told_.find(process);
  if (known != told_.end()) {
    for (auto other : known->second)
      told_[other].erase(process);
    told_.erase(known);
  }
  std::erase_if(pairs_, [&](auto& pair) {
    return pair.first.first == process || pair.first.second == process;
  });
}

} // namespace fiber::actors
