// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "actors/protocol/messages.hpp"

namespace fiber::actors::simulation {

/// What happens to a node unless something else happens first.
enum class Fate {
  none,
  stillborn,     ///< Ends before it is ready.
  no_room,       ///< The same, for lack of something.
  killed,        ///< At a random moment.
  killed_inside, ///< While it runs its n-th task.
  killed_after,  ///< Just after it sent results.
  drained,       ///< It is asked to end.
  silent,        ///< It is declared dead, but goes on sending.
  lease,         ///< It ends because its lease has expired.
};

inline LossCause cause_of(Fate fate) {
  return fate == Fate::no_room ? LossCause::shortage : LossCause::ended;
}

struct Item {
  std::uint64_t seq = 0;
  std::uint64_t call = 0;
  std::uint64_t index = 0;
  Payload arguments;
  std::shared_ptr<const OpenCall> code;
  bool overdue = false;
};

/// One worker slot: a model of SlotWorker.
struct SimulatedSlot {
  std::deque<Item> queue;
  std::optional<Item> running;
  std::vector<Item> unsent; ///< Ended tasks whose results are held back.
  TaskResults pending;
  Bytes values;
  std::uint64_t next_seq = 1;
  bool flush_due = false;
  bool ended = false; ///< Its thread has ended.
};

/// Takes the results that were held back, as they arrive at the driver.
inline TaskResults take_results(SimulatedSlot& slot) {
  Bytes head;
  slot.pending.bytes = Payload(std::exchange(slot.values, {}));
  Writer writer(head);
  write(writer, slot.pending);
  writer.raw(slot.pending.bytes.bytes().data(), slot.pending.bytes.size());
  slot.pending = {};
  slot.unsent.clear();
  Payload whole(std::move(head));
  Reader reader(whole.bytes());
  read_op(reader);
  return read_results(reader, whole);
}

/// Returns the same frame with wrong values as results.
inline NodeResults falsified(const NodeResults& news) {
  auto copy = news;
  std::uint64_t at = 0;
  for (auto& result : copy.results.results) {
    result = {TaskResult::Status::value, sizeof(std::uint64_t), at};
    at += sizeof(std::uint64_t);
  }
  copy.results.bytes = Payload(Bytes(at, std::byte{0xee}));
  return copy;
}

} // namespace fiber::actors::simulation
