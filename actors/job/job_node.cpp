// SPDX-License-Identifier: Apache-2.0
#include "actors/job/job_node.hpp"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "actors/share/share_cache.hpp"
#include "base/code_place.hpp"
#include "base/log.hpp"

namespace fiber::actors {
namespace {

/// Exit codes of a job that ends itself.
constexpr int exit_protocol = 70, exit_initializer = 71;
constexpr std::chrono::milliseconds peers_interval{500};

} // namespace

template <class Message>
void JobNode::send(const Message& message) {
  Bytes head;
  Writer writer(head);
  write(writer, message);
  parts_.link->send(task_stream, std::move(head));
}

/// Handles a message on a thread that must not wait for other messages.
template <class F>
void JobNode::parse_from(const char* who, F read) {
  const ObjectSpace::BorrowedThreadScope scope(parts_.objects.get());
  try {
    read();
  } catch (const std::exception& error) {
    log().error("{} sent a malformed message: {}", who, error.what());
    parts_.abort(exit_protocol);
  }
}

void JobNode::on_message(wire::StreamId, Bytes message) {
  parse_from("the driver", [&] {
    const Payload whole(std::move(message));
    Reader reader(whole.bytes());
    while (!reader.empty())
      handle(read_op(reader), reader, whole);
  });
}

void JobNode::from_peer(std::uint64_t process, std::uint64_t link,
                        const Payload& message) {
  parse_from("another job", [&] { parts_.objects->heard_peer(process, link, message); });
}

void JobNode::from_closed_peer(std::uint64_t process, std::uint64_t link) {
  const ObjectSpace::BorrowedThreadScope scope(parts_.objects.get());
  parts_.objects->closed_peer(process, link);
}

// -- slots --

/// Sends under the lock, which on_message() never takes: an inline session's link calls
/// that on this thread.
void JobNode::slot_ready() {
  const std::lock_guard lock(mutex_);
  if (++ready_ == parts_.slots.size() && !draining_)
    send(Ready{parts_.incarnation, static_cast<std::uint32_t>(parts_.slots.size()),
               static_cast<std::int32_t>(getpid()), build_id()});
}

void JobNode::slot_failed(const Failure& failure) {
  send_op(*parts_.link, Op::init_failed, failure);
  parts_.abort(exit_initializer);
}

void JobNode::drain() {
  bool ready = false;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(draining_, true))
      return; // An engine may ask more than once.
    ready = ready_ == parts_.slots.size();
  }
  send(Op::draining);
  for (auto& slot : parts_.slots)
    send(slot->recall(SIZE_MAX));
  // More tasks may be in flight, so the slots finish only when the driver sends
  // Op::retire. If the driver is suspended, the job waits for it so that no task is
  // lost, until its engine kills it or its lease expires. Of a node that is not ready
  // the driver knows nothing, so it need not wait.
  if (!ready)
    for (auto& slot : parts_.slots)
      slot->finish();
}

SlotWorker& JobNode::slot(std::uint32_t i) {
  if (i >= parts_.slots.size())
    throw Error("it has no worker " + std::to_string(i) + ", only " +
                std::to_string(parts_.slots.size()));
  return *parts_.slots[i];
}

// -- messages of the driver --

void JobNode::handle(Op op, Reader& reader, const Payload& whole) {
  switch (op) {
  case Op::open:
    return open(read_open(reader, whole));
  case Op::run:
    return run(read_run(reader, whole));
  case Op::close:
    return close(reader.get<std::uint64_t>());
  case Op::recall: {
    auto recall = read_recall(reader);
    return send(slot(recall.slot).recall(recall.most));
  }
  case Op::stop: {
    auto call = reader.get<std::uint64_t>();
    for (auto& slot : parts_.slots)
      slot->stop(call);
    return;
  }
  case Op::stop_task: {
    auto stop = read_stop_task(reader);
    return slot(stop.slot).stop_task(stop.seq);
  }
  case Op::retire:
    for (auto& slot : parts_.slots)
      slot->finish();
    return;
  case Op::probe:
    return answer_probe();
  case Op::timing:
    return time_results(reader.get<std::uint64_t>() != 0);
  case Op::shared:
    return ShareCache::instance().arrived(reader, whole);
  case Op::share_memory:
    return ShareCache::instance().place(reader.get<std::uint64_t>());
  case Op::share_mapped:
    return ShareCache::instance().mapped(reader.get<SharePlace>());
  case Op::freed:
    return ShareCache::instance().freed(reader.get<std::uint64_t>());
  case Op::received:
  case Op::object:
  case Op::object_retain:
  case Op::object_release:
    return parts_.objects->heard(0, op, reader, whole);
  case Op::process_gone: {
    auto rest = reader;
    if (parts_.peers)
      parts_.peers->forget(rest.get<std::uint64_t>());
    parts_.objects->heard(0, op, reader, whole);
    return end_dying_peers_later();
  }
  case Op::peer_listen:
    return peers().listen(read_peer_call(reader));
  case Op::peer_dial:
    return peers().dial(read_peer_call(reader));
  default:
    throw Error("operation " + std::to_string(static_cast<int>(op)) +
                " is not for a job");
  }
}

void JobNode::open(OpenCall op) {
  CallCode code{op.call, op.single, op.open, std::move(op.problem), std::move(op.state)};
  if (op.call == initializer_call)
    return parts_.initialize(std::move(code));
  calls_[op.call] = std::make_shared<const CallCode>(std::move(code));
}

void JobNode::run(RunTasks tasks) {
  auto call = calls_.find(tasks.call);
  if (call == calls_.end())
    throw Error("tasks of an unknown call " + std::to_string(tasks.call));
  auto code = call->second;
  if (code->single)
    calls_.erase(call);
  auto& worker = slot(tasks.slot);
  worker.push(std::move(tasks), std::move(code));
  if (parts_.task_timeout.count() > 0 && !deadline_pending_.exchange(true))
    call_after(parts_.task_timeout, &JobNode::check_deadlines);
}

void JobNode::close(std::uint64_t call) {
  calls_.erase(call);
  for (auto& slot : parts_.slots)
    slot->close(call);
}

void JobNode::time_results(bool timed) {
  for (auto& slot : parts_.slots)
    slot->time_results(timed);
}

void JobNode::answer_probe() {
  std::chrono::nanoseconds clock = SlotWorker::Clock::now().time_since_epoch();
  send_op(*parts_.link, Op::probed, std::int64_t{clock.count()});
}

// -- timers --

void JobNode::call_after(std::chrono::nanoseconds delay, void (JobNode::*f)()) {
  auto call = [weak = weak_from_this(), f] {
    if (auto node = weak.lock())
      (*node.*f)();
  };
  parts_.after(std::chrono::ceil<std::chrono::milliseconds>(delay), std::move(call));
}

void JobNode::check_deadlines() {
  deadline_pending_ = false; // Before the look: a task may come meanwhile.
  auto now = SlotWorker::Clock::now();
  std::optional<SlotWorker::Clock::time_point> again;
  for (std::uint32_t i = 0; i < parts_.slots.size(); ++i) {
    auto check = parts_.slots[i]->check_deadline(now);
    if (check.overdue)
      send(Overdue{i, *check.overdue});
    if (check.again)
      again = std::min(again.value_or(*check.again), *check.again);
  }
  if (!again)
    return;
  deadline_pending_ = true;
  call_after(*again - now, &JobNode::check_deadlines);
}

// -- other jobs --

PeerLinks& JobNode::peers() {
  if (!parts_.peers)
    throw Error("there are no other jobs");
  return *parts_.peers;
}

/// Drops peers that are gone and were read to their end.
void JobNode::end_dying_peers() {
  const ObjectSpace::BorrowedThreadScope scope(parts_.objects.get());
  peers_tick_pending_ = false;
  parts_.objects->peers().end_dying();
  end_dying_peers_later();
}

void JobNode::end_dying_peers_later() {
  if (parts_.objects->peers().dying() && !std::exchange(peers_tick_pending_, true))
    call_after(peers_interval, &JobNode::end_dying_peers);
}

} // namespace fiber::actors
