// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/protocol/job_ledger.hpp"
#include "fiber/bytes.hpp"
#include "fiber/callable.hpp"
#include "fiber/detail/caf/message_type.hpp"
#include "fiber/value.hpp"
#include "wire/link.hpp"

// The messages between processes about objects: queues, pipes, locks, managed objects.
//
// A message with handles always goes through the driver, on the stream of tasks, results,
// retains and releases. So if a process sends a handle away and then releases its own
// handle, the driver reads both in this order. Messages without handles take the same
// way, unless the two processes are jobs with a direct link: see Peers. At each hop the
// sender retains the objects of a message's handles until the receiver has acknowledged
// the message (Op::received). The objects of one message in flight are called a parcel.

namespace fiber::actors {

/// Identifies a request: the process that asks and a number.
struct Asker {
  std::uint64_t process = 0; ///< Its incarnation; 0 is the driver.
  std::uint64_t request = 0;
  auto operator<=>(const Asker&) const = default;
};

/// The kinds of requests to an object. "Of a request" means that the Asker names an
/// earlier request, which the message is about.
enum class AskKind : std::uint8_t {
  // Of a channel.
  put,       ///< body: an item
  get,       ///< body: the name of the type that the item must have, or nothing; how many
             ///< others may be prefetched with it (Prefetch)
  poll,      ///< answered when there is an item to get
  join,      ///< answered when every item was reported as done
  task_done, ///< an item is done; body: the request and the index that brought it, or
             ///< nothing: the oldest that the process has taken
  size,      ///< how many items can be got
  close,     ///< close this end
  // Of any other object.
  call, ///< body: as the object reads it
  // Of all.
  cancel, ///< of a request: answer it now
  took,   ///< of a request: acknowledges its answer; body: the index of the item that was
          ///< taken, or nothing: the first
  taken,  ///< of a request: acknowledges items of its answer; body: how many, from the
          ///< first on
  give_back, ///< of a request: returns untaken items; body: the index of the first
  puts,      ///< not answered; body: items
  unused,    ///< not answered; body: how much of the lent room is returned
  // From the home of an object to a holder.
  recall,  ///< of a request: give prefetched items back
  room,    ///< body: how much more may be put without asking
  reclaim, ///< report how much of that room is unused
  shut     ///< nothing more can be put
};

enum class Answer : std::uint8_t {
  done,
  value,      ///< body: as asked for
  closed,     ///< the object or its process is gone, or nothing more will come
  cancelled,  ///< the request still waited when it was cancelled
  other_type, ///< body: the name of the type of the first item
  refused,    ///< body: the reason as text
  failed,     ///< body: the Failure of a call that threw
  lost,       ///< body: a LostCall; of a join: LostItems
  values,     ///< body: the number of items, then each with its size
  unbegun,    ///< body: the call; its host ends and has not run it
  // Not answers to a request: sent as the AskKind of similar name.
  recalled,
  room,
  reclaimed
};

/// Whether a message is sent at once or with others that follow soon: Link::send_soon().
enum class Haste : std::uint8_t { now, soon };

/// A message between two processes about an object of one of them.
struct ObjectMessage {
  std::uint64_t to = 0, from = 0; ///< Processes.
  std::uint64_t object = 0;       ///< Its number at its home; 0: this is an answer.
  std::uint64_t request = 0;
  std::uint8_t what = 0;            ///< An AskKind or an Answer.
  std::vector<detail::HeldId> held; ///< The objects that handles in `body` refer to.
  std::uint64_t parcel = 0; ///< If not 0, the neighbour keeps `held` until Op::received.
  // Only between two jobs; see PeerStream.
  std::uint64_t sequence = 0;     ///< From 1 on, for each receiver.
  std::uint64_t acknowledged = 0; ///< The receiver's messages up to here have arrived.
  Payload body;
};

/// Writes all but `body`, which must follow.
void write(Writer& writer, const ObjectMessage& message);
void send(wire::Link& link, const ObjectMessage& message, Haste haste);
/// Throws Error on malformed input.
ObjectMessage read_object_message(Reader& reader, const Payload& whole);

/// Why a call has no answer: its job was lost.
struct LostCall {
  std::string text;             ///< The whole sentence.
  std::optional<int> exit = {}; ///< WorkerLost::exits().
  std::string reason, log;
};
void write(Writer& writer, const LostCall& lost);
LostCall read_lost_call(Reader& reader);

/// Items of a queue that were lost with their consumers.
struct LostItems {
  std::uint64_t items = 0;
  /// How often each was redelivered; nothing if the queue does not redeliver.
  std::optional<std::int32_t> redeliveries = {};
  /// The last consumers and how many of the items each had, the latest last. Not all if
  /// there were many.
  std::vector<std::pair<std::string, std::uint64_t>> jobs = {};
};
void write(Writer& writer, const LostItems& lost);
LostItems read_lost_items(Reader& reader);

/// Op::process_gone: this process and its objects can't be reached any more.
struct GoneProcess {
  std::uint64_t process = 0;
  std::string job = {}; ///< Its name; empty if the sender does not know.
};
void write(Writer& writer, const GoneProcess& gone);
GoneProcess read_gone_process(Reader& reader);

// -- to the actor of an object --

struct ObjectAsk {
  Asker who;
  std::uint64_t number = 0; ///< The object, as an actor may serve several.
  AskKind what = AskKind::put;
  Payload body;
  detail::KeptObjects kept; ///< The objects that handles in `body` refer to.
  Haste haste = Haste::now; ///< Of a request from this process.
};
/// No process holds this object any more.
struct ObjectFreed {
  std::uint64_t number = 0;
};
/// Nothing more will come from this process.
struct ProcessGone {
  std::uint64_t process = 0;
  std::shared_ptr<const JobLedger> ledger; ///< Null if it had none.
  std::string job;                         ///< Its name; empty if not known.
};

} // namespace fiber::actors

FIBER_ACTOR_MESSAGE(fiber::actors::ObjectAsk)
FIBER_ACTOR_MESSAGE(fiber::actors::ObjectFreed)
FIBER_ACTOR_MESSAGE(fiber::actors::ProcessGone)
