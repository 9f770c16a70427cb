// SPDX-License-Identifier: Apache-2.0
#pragma once

// protocol/ holds what processes and actors say to each other: messages and how they are
// packed, a job's log records and its ledger.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "actors/core/chaos.hpp"
#include "base/memory_file.hpp"
#include "fiber/bytes.hpp"
#include "fiber/callable.hpp"
#include "fiber/error.hpp"
#include "fiber/value.hpp"
#include "wire/link.hpp"

// This file has the messages between a driver and a node (the actor of a job that runs
// tasks in slots, a thread each). A message on a link is a sequence of operations, each
// an Op and its fields. Both ends run the same build, so fields are packed as they lie in
// memory.

namespace fiber::actors {

/// Streams of a link. On share_stream go shared values.
inline constexpr wire::StreamId task_stream = 1;
inline constexpr wire::StreamId share_stream = 2;

enum class Op : std::uint8_t {
  // driver to node
  open,         ///< OpenCall
  run,          ///< RunTasks
  close,        ///< call id: its callable is no longer needed
  recall,       ///< Recall
  stop,         ///< call id: tell its running tasks to stop
  stop_task,    ///< StopTask
  retire,       ///< finish the tasks that you have, then end
  probe,        ///< answer with probed
  shared,       ///< padding, id, whether there is one, size and bytes of a shared value.
                ///< Also from a node to a node
  share_memory, ///< id of a shared value that this job has been sent: put it where
                ///< others on its machine can map it, and answer with share_place
  share_mapped, ///< SharePlace: map it there instead of being sent it
  freed,        ///< id of a shared value that nobody holds any more
  received,     ///< parcel number: this process now holds the objects that the handles of
                ///< that message refer to. A node sends it too, for messages between jobs
  // node to driver
  ready,         ///< Ready
  results,       ///< TaskResults
  timed_results, ///< TaskResults with times
  handed_back,   ///< HandedBack
  overdue,       ///< Overdue
  draining,      ///< the job was asked to end: send no more tasks, then retire
  init_failed,   ///< Failure of the initializer; the job ends
  probed,        ///< the node's clock, in ns: the answer to a probe
  fetch,         ///< ShareFetch
  share_waits,   ///< id of a shared value that this job asked for and waits for still
  share_arrived, ///< id of a shared value of which this job now has the bytes
  share_place,   ///< SharePlace: the answer to share_memory
  retain,        ///< id of a shared value: this job holds it
  release,       ///< id of a shared value: this job has dropped it
  chaos,         ///< ChaosNote: the fault that the job is about to inject
  lease_over,    ///< the lease is over, as nothing came from the driver: the job ends
  log,           ///< LogRecord
  puts,          ///< number of an object of the driver, then items: AskKind::puts
  // either way
  object,         ///< ObjectMessage
  object_retain,  ///< HeldId: this process holds it
  object_release, ///< HeldId: this process has dropped it
  process_gone,   ///< GoneProcess
  // for direct links between jobs: driver to node
  peer_listen, ///< PeerCall without an address: wait for that job to dial
  peer_dial,   ///< PeerCall: dial that job
  // node to driver
  peer_listens,  ///< PeerCall: the address that the other job can dial
  share_listens, ///< the same for a shared value; no host: there is no listener
  // node to node
  peer_hello, ///< PeerHello; first message in both directions
  peer_ack,   ///< sequence number: all messages up to it have arrived
  peer_sync,  ///< sequence number: answer with peer_ack when that message has arrived
  // driver to node
  timing ///< 1: results have times from now on; 0: they have none
};

/// Pads a message so that a shared value begins at a multiple of 64 bytes and an array is
/// aligned where it arrives.
inline constexpr std::size_t share_padding = 64 - (1 + 8 + 1 + 8);

/// The initializer: a call without tasks, which each slot runs before any other.
inline constexpr std::uint64_t initializer_call = 0;

/// Asks for a shared value.
struct ShareFetch {
  std::uint64_t id = 0;
  /// Jobs with the same number can map each other's memory. 0: the job can't get the
  /// value from another job, so the driver must send it.
  std::uint64_t machine = 0;
  std::uint64_t unreached = 0; ///< 1: the job can't connect to the other job.
};

/// Where a job has a shared value in memory that others on its machine can map.
struct SharePlace {
  std::uint64_t id = 0;
  MemoryPlace place = {}; ///< `fd` is -1 if there is no memory for it.
};

struct OpenCall {
  std::uint64_t call = 0;
  bool single = false;
  detail::Open open = nullptr;
  std::string problem; ///< Set by the reader: why `open` is null.
  Payload state;
};

/// Consecutive tasks of one call for one slot, numbered from `first_seq` on in the order
/// in which the slot gets and runs them.
struct RunTasks {
  std::uint32_t slot = 0;
  std::uint64_t first_seq = 0;
  std::uint64_t call = 0;
  std::uint64_t first_index = 0;
  std::uint32_t attempt = 1;
  std::uint32_t hold_us = 0; ///< How long a result may wait to be sent with others.
  std::vector<std::uint64_t> lengths; ///< Length of each task's part of `arguments`.
  Payload arguments;
};

/// Asks for up to `most` tasks of `slot` that have not started, the last ones first.
struct Recall {
  std::uint32_t slot = 0;
  std::uint32_t most = 0;
};

/// Tells a task to stop, if it runs.
struct StopTask {
  std::uint32_t slot = 0;
  std::uint64_t seq = 0;
};

struct Ready {
  std::uint64_t incarnation = 0;
  std::uint32_t slots = 0;
  std::int32_t pid = 0;
  std::string build;
};

struct TaskResult {
  enum class Status : std::uint8_t {
    value,
    failure,
    overdue ///< The task ended after its time limit.
  };
  Status status = Status::value;
  std::uint64_t length = 0;
  std::uint64_t offset = 0; ///< Within TaskResults::bytes; set by the reader.
};

/// When a task began and how long it ran, by its job's clock.
struct TaskTime {
  std::int64_t began_ns = 0;
  std::int64_t ran_ns = 0;
};

/// Results of consecutive tasks of one slot, in order.
struct TaskResults {
  std::uint32_t slot = 0;
  std::uint64_t first_seq = 0;
  std::uint64_t busy_ns = 0;    ///< Time spent in the tasks.
  std::uint64_t longest_ns = 0; ///< Time spent in the longest of them.
  std::vector<TaskResult> results;
  std::vector<TaskTime> times;      ///< One a result if the pool has a trace; else empty.
  std::vector<detail::HeldId> held; ///< The objects that handles in `bytes` refer to.
  std::uint64_t parcel = 0; ///< If not 0, the sender keeps `held` until Op::received.
  Payload bytes;
};

/// The answer to a recall: the tasks from `from_seq` up to but not including `to_seq`
/// have not run and will not. Tasks sent to the slot after the recall are never among
/// them.
struct HandedBack {
  std::uint32_t slot = 0;
  std::uint64_t from_seq = 0;
  std::uint64_t to_seq = 0;
};

/// A task still runs after its time limit.
struct Overdue {
  std::uint32_t slot = 0;
  std::uint64_t seq = 0;
};

/// A task is about to kill or stall its job.
struct ChaosNote {
  Chaos::Fate fate = Chaos::Fate::none;
  std::uint64_t worker = 0; ///< The rank of the task's worker.
};

/// A log record of a job.
struct LogRecord {
  std::uint8_t level = 0; ///< As spdlog numbers it.
  std::uint64_t index = 0;
  std::uint32_t attempt = 0; ///< 0: the record is not of a task.
  std::string text;
};

/// Arguments and states of at least this size are sent as the body of a message of their
/// own, so that they are never copied into a frame.
inline constexpr std::size_t own_message_bytes = 32 * 1024;

/// The longest value that a message can carry. The rest of the message limit is left for
/// the fields before it; a link cuts off a peer that announces a longer message.
inline constexpr std::size_t max_value_bytes =
  wire::LinkOptions{}.message_limit - (std::size_t{1} << 20);
/// Throws Error, with the size and the limit, if a value of so many bytes can't be sent.
void check_size(std::size_t bytes, std::size_t most = max_value_bytes);

// These three write all but `state`, `arguments` and `bytes`, which must follow.
void write(Writer& writer, const OpenCall& op);
void write(Writer& writer, const RunTasks& op);
void write(Writer& writer, const TaskResults& op);

void write(Writer& writer, const Recall& op);
void write(Writer& writer, const StopTask& op);
void write(Writer& writer, const Ready& op);
void write(Writer& writer, const HandedBack& op);
void write(Writer& writer, const Overdue& op);
void write(Writer& writer, const Failure& failure);
void write(Writer& writer, const LogRecord& record);
void write(Writer& writer, Op op); ///< For an operation without fields.
void write(Writer& writer, Op op, std::uint64_t id);
/// Sends an operation with one field.
template <class T>
void send_op(wire::Link& link, Op op, const T& field) {
  Bytes head;
  Writer writer(head);
  writer.put(op);
  if constexpr (requires { write(writer, field); })
    write(writer, field);
  else
    writer.put(field);
  link.send(task_stream, std::move(head));
}

/// Sends Op::shared. Without a value, the receiver is told that there is none.
void send_shared(wire::Link& link, std::uint64_t id, const std::optional<Payload>& value);

Op read_op(Reader& reader); ///< Throws Error on an unknown value.
/// These read what write() wrote behind the Op. `whole` owns the bytes that `reader`
/// reads, so that payloads need no copy. They throw Error on malformed input.
OpenCall read_open(Reader& reader, const Payload& whole);
RunTasks read_run(Reader& reader, const Payload& whole);
Recall read_recall(Reader& reader);
StopTask read_stop_task(Reader& reader);
Ready read_ready(Reader& reader);
/// `timed`: the Op was timed_results.
TaskResults read_results(Reader& reader, const Payload& whole, bool timed = false);
/// Reads a job's clock, or a duration by it, in ns. Throws Error if it is so large that
/// arithmetic could overflow.
std::int64_t read_clock(Reader& reader);
HandedBack read_handed_back(Reader& reader);
Overdue read_overdue(Reader& reader);
Failure read_failure(Reader& reader);
LogRecord read_log(Reader& reader);

} // namespace fiber::actors
