// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "actors/core/chaos.hpp"
#include "fiber/bytes.hpp"
#include "fiber/callable.hpp"
#include "fiber/error.hpp"
#include "fiber/value.hpp"
#include "wire/link.hpp"

// What a driver and a node say to each other. A message on a link is a sequence of
// operations, each an Op and its fields; both ends run the same build, so fields are
// packed as they lie in memory.

namespace fiber::actors {

/// Streams of the link between a driver and a node.
inline constexpr wire::StreamId task_stream = 1;
inline constexpr wire::StreamId share_stream = 2;

enum class Op : std::uint8_t {
  // driver to node
  open,      ///< OpenCall
  run,       ///< RunTasks
  close,     ///< call id: its callable is needed no more
  recall,    ///< Recall
  stop,      ///< call id: tell its running tasks to stop
  stop_task, ///< StopTask
  retire,    ///< finish what you have, then end
  probe,     ///< answer with probed
  shared,    ///< padding, id, whether there is one, size and bytes of a shared value
  freed,     ///< id of a shared value that nobody holds any more
  received,  ///< number of a parcel: what the handles in it stand for is held here now;
             ///< also from a node, of what it was sent for or by another job
  // node to driver
  ready,         ///< Ready
  results,       ///< TaskResults
  timed_results, ///< TaskResults with times
  handed_back,   ///< HandedBack
  overdue,       ///< Overdue
  draining,      ///< somebody asked the job to end: send no more, then retire
  init_failed,   ///< Failure of the initializer; the job ends
  probed,        ///< the node's clock, in ns: the answer to a probe
  fetch,         ///< id of a shared value: send it
  retain,        ///< id of a shared value: this job holds it
  release,       ///< id of a shared value: this job has dropped it
  chaos,         ///< ChaosNote: what the job is about to do to itself
  lease_over,    ///< nothing was heard from the driver for too long: the job ends
  log,           ///< LogRecord
  puts,          ///< number of an object of the driver, then items: AskKind::puts
  // either way
  object,         ///< ObjectMessage
  object_retain,  ///< HeldId: this process holds it
  object_release, ///< HeldId: this process has dropped it
  process_gone,   ///< incarnation: nothing of that process can be reached any more
  // for links of two jobs: driver to node
  peer_listen, ///< PeerCall without a place: wait for that job to dial
  peer_dial,   ///< PeerCall: dial that job
  // node to driver
  peer_listens, ///< PeerCall: there that job can dial
  // node to node
  peer_hello, ///< who dials, and the secret; so does the answer: it comes first
  peer_ack,   ///< sequence number: so far all has arrived
  peer_sync   ///< sequence number: answer with peer_ack as soon as that has arrived
};

/// So that a shared value begins at a multiple of 64 bytes of its message, and an array
/// is aligned where it arrives.
inline constexpr std::size_t share_padding = 64 - (1 + 8 + 1 + 8);

/// A call that has no tasks: each slot runs it first of all.
inline constexpr std::uint64_t initializer_call = 0;

struct OpenCall {
  std::uint64_t call = 0;
  bool single = false;
  detail::Open open = nullptr;
  std::string problem; ///< Why `open` is null where the call arrived.
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
  std::uint32_t hold_us = 0; ///< For so long a result may wait for others.
  std::vector<std::uint64_t>
    lengths; ///< Of each task's arguments, which stand one behind the other.
  Payload arguments;
};

/// Give back up to `most` tasks of `slot` that have not started, the last ones first.
struct Recall {
  std::uint32_t slot = 0;
  std::uint32_t most = 0;
};

/// Tell this task to stop, if it runs.
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
    overdue ///< It ended after its time limit.
  };
  Status status = Status::value;
  std::uint64_t length = 0;
  std::uint64_t offset = 0; ///< Within TaskResults::bytes; set by the reader.
};

/// When a task ran, by its job's clock.
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
  std::vector<TaskTime> times;      ///< Of each, if the pool has a trace; else empty.
  std::vector<detail::HeldId> held; ///< What handles in `bytes` stand for.
  std::uint64_t parcel = 0; ///< Not 0: the sender keeps those until `received` has come.
  Payload bytes;
};

/// The answer to a recall: every task from `from_seq` on and before `to_seq` was not and
/// will not be run. What is sent to the slot after the recall is behind that.
struct HandedBack {
  std::uint32_t slot = 0;
  std::uint64_t from_seq = 0;
  std::uint64_t to_seq = 0;
};

/// A task has run for longer than it may, and still does.
struct Overdue {
  std::uint32_t slot = 0;
  std::uint64_t seq = 0;
};

/// A task of this worker is about to do that to its job.
struct ChaosNote {
  Chaos::Fate fate = Chaos::Fate::none;
  std::uint64_t worker = 0; ///< Its rank.
};

/// What a job's logger was told.
struct LogRecord {
  std::uint8_t level = 0; ///< spdlog's.
  std::uint64_t index = 0;
  std::uint32_t attempt = 0; ///< 0: it was no task that said it.
  std::string text;
};

/// Arguments and states from this size on travel as the body of a message of their own,
/// so that they are never copied into a frame.
inline constexpr std::size_t own_message_bytes = 32 * 1024;

/// The longest value that a message can carry, with room for what stands before it: a
/// link cuts off a peer that announces a longer message.
inline constexpr std::size_t most_value_bytes =
  wire::LinkOptions{}.message_limit - (std::size_t{1} << 20);
/// Throws Error that names the size and the limit if a value of so many bytes can't be
/// sent.
void check_size(std::size_t bytes, std::size_t most = most_value_bytes);

void write(Writer& writer,
           const OpenCall& op); ///< All but the bytes of `state`, which must follow.
void write(Writer& writer,
           const RunTasks& op); ///< All but the bytes of `arguments`, which must follow.
void write(Writer& writer,
           const TaskResults& op); ///< All but `bytes`, which must follow.
void write(Writer& writer, const Recall& op);
void write(Writer& writer, const StopTask& op);
void write(Writer& writer, const Ready& op);
void write(Writer& writer, const HandedBack& op);
void write(Writer& writer, const Overdue& op);
void write(Writer& writer, const Failure& failure);
void write(Writer& writer, const LogRecord& record);
void write(Writer& writer, Op op); ///< An operation without fields.
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

Op read_op(Reader& reader); ///< Throws Error on a value that is none.
/// These read what write() wrote behind the Op. `whole` owns the bytes that `reader`
/// walks over, so that payloads need no copy. They throw Error on anything malformed.
OpenCall read_open(Reader& reader, const Payload& whole);
RunTasks read_run(Reader& reader, const Payload& whole);
Recall read_recall(Reader& reader);
StopTask read_stop_task(Reader& reader);
Ready read_ready(Reader& reader);
/// `timed`: behind Op::timed_results.
TaskResults read_results(Reader& reader, const Payload& whole, bool timed = false);
/// A job's clock or a time by it, in ns: so small that there is room to compute with it.
std::int64_t read_clock(Reader& reader);
HandedBack read_handed_back(Reader& reader);
Overdue read_overdue(Reader& reader);
Failure read_failure(Reader& reader);
LogRecord read_log(Reader& reader);

} // namespace fiber::actors
