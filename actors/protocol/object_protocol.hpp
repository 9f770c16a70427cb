// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <caf/allowed_unsafe_message_type.hpp>

#include "actors/protocol/job_ledger.hpp"
#include "fiber/bytes.hpp"
#include "fiber/callable.hpp"
#include "fiber/value.hpp"
#include "wire/link.hpp"

// What processes say to each other of objects: queues, pipes, locks, what a manager has.
// A message with handles in it goes by way of the driver, on the one stream on which
// tasks, results and what is said of holders go too. So whoever passes a handle on is
// heard to do so before it is heard to drop its own. So may every other message, unless
// the two processes are jobs that have a link of their own: see Peers. At each step the
// sender keeps what the handles stand for until the next one has said that it holds that
// (Op::received).

namespace fiber::actors {

/// One request of one process.
struct Asker {
  std::uint64_t process = 0; ///< Its incarnation; 0 is the driver.
  std::uint64_t request = 0;
  auto operator<=>(const Asker&) const = default;
};

/// What is asked of an object. The two that end a request name it by the Asker.
enum class AskKind : std::uint8_t {
  // Of a channel.
  put,       ///< body: an item
  get,       ///< body: the name of the type that it must have, or nothing; how many
             ///< others may come with it (ItemsAhead)
  poll,      ///< answered when there is an item to get
  join,      ///< answered when every item was reported as done
  task_done, ///< an item is done
  size,      ///< how many items wait
  close,     ///< this end is of no use any more
  // Of any other object.
  call, ///< body: as the object reads it
  // Of all.
  cancel, ///< of a request: answer now
  took,  ///< of a request: what it was answered has been taken over; body: which of them,
         ///< nothing: the first
  taken, ///< of a request: body: how many, from the first on, have been taken over
  give_back, ///< of a request: which of them were not taken, from here on
  puts,      ///< no request: body: items, which nobody waits to see put
  unused,    ///< body: how much of the room that was lent is not used
  // To who holds a handle.
  recall,  ///< of a request: give back
  room,    ///< body: how much more may be put without asking
  reclaim, ///< say how much of it is unused
  shut     ///< nothing more can be put
};

enum class Answer : std::uint8_t {
  done,
  value,      ///< body: as asked for
  closed,     ///< there is nothing more to come, or nobody to do it
  cancelled,  ///< it was still waiting
  other_type, ///< body: the name of the type of the item that is first
  refused,    ///< body: a text that says why
  failed,     ///< body: the Failure of what a call threw
  lost,       ///< body: a LostCall
  values,     ///< body: how many, each with its size
  unbegun,    ///< body: the call, which has not run, as its host ends
  // Of a request that was answered, or of none: told as AskKind has it.
  recalled,
  room,
  reclaimed
};

/// Whether a message goes out at once or with others that follow: Link::send_soon().
enum class Haste : std::uint8_t { now, soon };

/// What one process sends another about an object of one of them.
struct ObjectMessage {
  std::uint64_t to = 0, from = 0; ///< Processes.
  std::uint64_t object = 0;       ///< By its number at its home; 0: this is an answer.
  std::uint64_t request = 0;
  std::uint8_t what = 0;            ///< A AskKind or an Answer.
  std::vector<detail::HeldId> held; ///< What handles in `body` stand for.
  std::uint64_t parcel = 0; ///< Not 0: who sent it here keeps those until `received`.
  // Between two jobs; see PeerStream.
  std::uint64_t sequence = 0;     ///< From 1, for each receiver.
  std::uint64_t acknowledged = 0; ///< So far its receiver's own have arrived.
  Payload body;
};

void write(Writer& writer,
           const ObjectMessage& message); ///< All but `body`, which must follow.
void send(wire::Link& link, const ObjectMessage& message, Haste haste);
/// Throws Error on anything malformed.
ObjectMessage read_object_message(Reader& reader, const Payload& whole);

/// Why a call has no answer: its job was lost.
struct LostCall {
  std::string text; ///< The whole sentence.
  int exit = 0;     ///< WorkerLost::exits().
  std::string reason, log;
};
void write(Writer& writer, const LostCall& lost);
LostCall read_lost_call(Reader& reader);

// -- to the actor of an object --

struct ObjectAsk {
  Asker who;
  std::uint64_t number = 0; ///< Which of its objects, if it is more than one.
  AskKind what = AskKind::put;
  Payload body;
  detail::KeptObjects kept; ///< What handles in `body` stand for.
  Haste haste = Haste::now; ///< Who asks from this process.
};
/// Nobody holds this object of it any more.
struct ObjectFreed {
  std::uint64_t number = 0;
};
/// Nothing more will come from there.
struct ProcessGone {
  std::uint64_t process = 0;
  std::shared_ptr<const JobLedger>
    ledger; ///< What it has taken; null: only what it said.
};

} // namespace fiber::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::ObjectAsk)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::ObjectFreed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::ProcessGone)
