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

/// Proves that a connection is the direct link that the driver has arranged. Only the two
/// jobs and the driver know it.
using PeerSecret = std::array<std::uint64_t, 2>;

/// What the driver tells the job `to`: that the job `peer` will dial, or where to dial
/// it.
struct PeerCall {
  std::uint64_t to = 0; ///< Not on the wire.
  std::uint64_t peer = 0;
  PeerSecret secret{};
  std::string host = {}; ///< If port is 0, the name of a local socket.
  std::uint16_t port = 0;
  /// If not 0: the link is for the shared value with that id, which the job that listens
  /// sends to the job that dials, and ends then.
  std::uint64_t share = 0;
  detail::Digest digest{}; ///< Of that value, in the call to dial.
};
void write(Writer& writer, const PeerCall& call);
PeerCall read_peer_call(Reader& reader); ///< Throws Error on anything malformed.

PeerSecret fresh_secret();
/// The job `process` listens, as `call` says. Returns the call to the job that shall
/// dial. `link_host`: the address from which the first job's own link comes, empty if
/// that is not by TCP. A job that names another one gets no direct link: it could have
/// the other job connect to anything. `tunnels`: jobs may come through tunnels that end
/// on this machine. Where such a job is can't be seen, so that its word is taken.
std::optional<PeerCall> call_to_dial(std::uint64_t process, const PeerCall& call,
                                     const std::string& link_host, bool tunnels);

/// Decides, in the driver, which jobs get a direct link: those whose messages to each
/// other, which the driver relays, are many or large. One of them is told to listen, then
/// the other one to dial. If no link comes about, or it is cut, the driver goes on
/// relaying and tells them again after a while.
///
/// Thread safety: none.
class PeerIntroductions {
public:
  using Clock = std::chrono::steady_clock;

  /// See call_to_dial().
  void allow_tunnels() { tunnels_ = true; }

  /// The driver relays `message`. Returns the call to the job that shall listen, if its
  /// sender and its receiver shall have a link now.
  std::optional<PeerCall> passed_on(const ObjectMessage& message, Clock::time_point now);
  /// As call_to_dial(); none either if the answer is not expected.
  std::optional<PeerCall> listens(std::uint64_t process, const PeerCall& call,
                                  const std::string& link_host);
  /// The job is gone: forgets all that concerns it.
  void gone(std::uint64_t process);

private:
  struct Pair {
    std::size_t messages = 0, bytes = 0; ///< Relayed since they were told last.
    std::size_t told = 0;                ///< How often they were told.
    Clock::time_point again{};           ///< They are not told again before.
    std::uint64_t listener = 0;
    PeerSecret secret{};
  };
  using Key = std::pair<std::uint64_t, std::uint64_t>;
  static Key key(std::uint64_t a, std::uint64_t b) { return std::minmax(a, b); }

  bool tunnels_ = false;
  std::map<Key, Pair> pairs_;
  std::map<std::uint64_t, std::set<std::uint64_t>> told_; ///< The peers of each job.
};

} // namespace fiber::actors
