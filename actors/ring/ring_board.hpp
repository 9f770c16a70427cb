// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "actors/objects/object_space.hpp"
#include "actors/protocol/object_protocol.hpp"
#include "actors/ring/ring_progress.hpp"

namespace fiber::actors {

/// A request of a member to its ring's board.
enum class RingOp : std::uint8_t {
  set,   ///< key, value
  get,   ///< key; answered when a member has set it
  leave, ///< answered when all members have asked for it
  report ///< value: how many collectives there were
};

/// The body of an AskKind::call.
struct RingRequest {
  RingOp op = RingOp::get;
  std::string key = {};
  Payload value = {};
};
void write(Writer& writer, const RingRequest& request);
/// Throws Error on anything malformed.
RingRequest read_ring_request(const Payload& body);

/// The board by which the members of one attempt of a ring find each other and leave
/// together: values that members publish under keys, and the members that wait for them.
/// It sends nothing: each function returns the replies to send.
class RingBoard {
public:
  struct Reply {
    Asker to;
    Answer what = Answer::done;
    Payload value = {};
    std::string why = {}; ///< For Answer::refused.
  };
  using Replies = std::vector<Reply>;

  explicit RingBoard(std::size_t members) : members_(members) {}

  Replies handle(const Asker& who, RingRequest request);
  Replies cancel(const Asker& who);
  /// Drops the requests of a process that is gone.
  void gone(std::uint64_t process);
  /// Returns the requests that are not yet answered.
  std::vector<Asker> waiting() const;
  /// Returns how many collectives a member has reported last.
  std::uint64_t collectives() const { return collectives_; }

private:
  struct Waiting {
    Asker who;
    std::string key;
  };

  const std::size_t members_;
  std::map<std::string, Payload> values_;
  std::vector<Waiting> waiting_;
  std::vector<Asker> leaving_;
  std::uint64_t collectives_ = 0;
};

/// Opens a board as an object to which members in other processes send requests. What
/// they report is written to `progress`.
std::shared_ptr<ObjectHandle> open_ring_board(const std::shared_ptr<ObjectSpace>& space,
                                              std::size_t members,
                                              std::shared_ptr<RingProgress> progress);

} // namespace fiber::actors
