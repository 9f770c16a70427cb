// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/job/peer_links.hpp"
#include "actors/job/slot_worker.hpp"
#include "wire/link.hpp"

namespace fiber::actors {

/// The parts of a node. It shares the slots with their threads.
struct NodeParts {
  std::uint64_t incarnation = 0;
  std::shared_ptr<wire::Link> link;
  std::vector<std::shared_ptr<SlotWorker>> slots;
  /// Called when the initializer has arrived.
  std::function<void(CallCode)> initialize;
  /// Called with the exit code when the node has to end at once.
  std::function<void(int code)> abort;
  /// Calls a function later, on the reactor's thread: wire::Reactor::after().
  std::function<void(std::chrono::milliseconds, std::function<void()>)> after;
  std::chrono::nanoseconds task_timeout{0};       ///< The same as the slots'.
  std::shared_ptr<ObjectSpace> objects = nullptr; ///< The same as the slots'.
  std::shared_ptr<PeerLinks> peers = nullptr;     ///< Null: there are no other jobs.
};

/// The node of a job: hands the driver's tasks to the slots and answers the driver's
/// other messages. Slots write results to the link themselves. The node finishes its
/// slots when the driver retires it; run_node() then ends the job.
///
/// Thread safety: links call from_*() and on_*() on the reactor's thread, or one thread
/// at a time in an inline session; any thread may call the others.
class JobNode : public wire::LinkHandler, public std::enable_shared_from_this<JobNode> {
public:
  explicit JobNode(NodeParts parts) : parts_(std::move(parts)) {}

  /// A message of the driver.
  void on_message(wire::StreamId stream, Bytes message) override;
  void on_silence() override {}
  void on_closed(const wire::LinkEnd&) override {}

  /// A message came over the direct link with that number.
  void from_peer(std::uint64_t process, std::uint64_t link, const Payload& message);
  /// That link has ended.
  void from_closed_peer(std::uint64_t process, std::uint64_t link);

  /// A slot has run its initializer. The driver is told when all of them have.
  void slot_ready();
  /// A slot's initializer threw, so the job can run no tasks: the node ends.
  void slot_failed(const Failure& failure);
  /// The job was asked to end (SIGTERM): hands back the tasks that do not run.
  void drain();

private:
  template <class Message>
  void send(const Message& message);
  template <class F>
  void parse_from(const char* who, F read);
  void handle(Op op, Reader& reader, const Payload& whole);
  void open(OpenCall op);
  void run(RunTasks tasks);
  void close(std::uint64_t call);
  void time_results(bool timed);
  void answer_probe();
  SlotWorker& slot(std::uint32_t i);
  PeerLinks& peers();
  void call_after(std::chrono::nanoseconds delay, void (JobNode::*f)());
  void check_deadlines();
  void end_dying_peers();
  void end_dying_peers_later();

  const NodeParts parts_;
  std::unordered_map<std::uint64_t, std::shared_ptr<const CallCode>> calls_;
  /// check_deadlines() will be called. Atomic since inline messages come on any thread.
  std::atomic<bool> deadline_pending_ = false;
  bool peers_tick_pending_ = false; ///< end_dying_peers() will be.
  std::mutex mutex_;                ///< Guards what follows.
  std::size_t ready_ = 0;
  bool draining_ = false;
};

} // namespace fiber::actors
