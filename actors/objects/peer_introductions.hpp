// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "actors/protocol/object_protocol.hpp"

namespace fiber::actors {

/// What a link of two jobs is known by to both, and to nobody else but the driver.
using PeerSecret = std::array<std::uint64_t, 2>;

/// What a driver says to `to`: `peer` is going to dial, or can be dialled there.
struct PeerCall {
  std::uint64_t to = 0; ///< Not on the wire.
  std::uint64_t peer = 0;
  PeerSecret secret{};
  std::string host = {};  ///< For mutual TLS; or
  std::uint16_t port = 0; ///< 0: `host` is the name of a local socket.
};
void write(Writer& writer, const PeerCall& call);
PeerCall read_peer_call(Reader& reader); ///< Throws Error on anything malformed.

/// Which jobs are to have a link of their own: those between which much was passed on.
/// One is told to listen, and when it does the other one is told to dial. If they do not
/// get together, or their link is cut, what they say is passed on as before; after a
/// while they are told again.
///
/// Thread safety: none.
class PeerIntroductions {
public:
  using Clock = std::chrono::steady_clock;

  /// That was passed on; who is to listen now, if it is time.
  std::optional<PeerCall> passed_on(const ObjectMessage& message, Clock::time_point now);
  /// `process` does; who is to dial.
  std::optional<PeerCall> listens(std::uint64_t process, const PeerCall& call);
  void gone(std::uint64_t process);

private:
  struct Pair {
    std::size_t messages = 0, bytes = 0; ///< Since they were told last.
    std::size_t told = 0;                ///< How often.
    Clock::time_point again{};           ///< Not before.
    std::uint64_t listener = 0;
    PeerSecret secret{};
  };
  using Key = std::pair<std::uint64_t, std::uint64_t>;
  static Key key(std::uint64_t a, std::uint64_t b) { return std::minmax(a, b); }

  std::map<Key, Pair> pairs_;
  std::map<std::uint64_t, std::set<std::uint64_t>> told_; ///< Whom, of whom.
};

} // namespace fiber::actors
