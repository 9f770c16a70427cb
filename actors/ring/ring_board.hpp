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

namespace fiber::actors {

/// What a member asks of its ring's board.
enum class RingOp : std::uint8_t {
  set,  ///< key, value
  get,  ///< key; answered when somebody has set it
  leave ///< answered when all members have asked for it
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

/// Where the members of one attempt of a ring find each other, and leave together: what
/// each tells the others under a key, and who waits for it. It does nothing by itself:
/// every member function says whom to answer what.
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
  /// That process asks no more.
  void gone(std::uint64_t process);
  /// Those who have not been answered.
  std::vector<Asker> waiting() const;

private:
  struct Waiting {
    Asker who;
    std::string key;
  };

  const std::size_t members_;
  std::map<std::string, Payload> values_;
  std::vector<Waiting> waiting_;
  std::vector<Asker> leaving_;
};

/// A board as an object that members in other processes ask.
std::shared_ptr<ObjectHandle> open_ring_board(const std::shared_ptr<ObjectSpace>& space,
                                              std::size_t members);

} // namespace fiber::actors
