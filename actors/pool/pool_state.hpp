// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/fwd.hpp>

#include "actors/core/exit.hpp"
#include "actors/pool/pool_actor.hpp"
#include "actors/pool/running_table.hpp"
#include "actors/pool/task_queue.hpp"

namespace fiber::actors {

/// To the pool itself: time to look for tasks that wait behind a slow one.
struct StealTick {};
/// To the pool itself: time to look for tasks that run for long.
struct SpeculateTick {};
/// To the pool itself: this node has been ready for long enough to say that starting
/// works.
struct ProvenTick {
  std::uint64_t incarnation = 0;
};

/// To the pool itself: time to look for workers that nobody needs.
struct ScaleTick {};
/// To the pool itself: a task that was told to stop has had its time.
struct GraceOver {
  std::uint64_t incarnation = 0;
  std::size_t slot = 0;
  std::uint64_t seq = 0; ///< Its number, or a later one.
};

/// The state of a pool and its methods, which several files define:
///   pool_actor.cpp   message handlers, calls, lost nodes, the end of the pool
///   workers.cpp      how many workers there are, and how they come and go
///   dispatch.cpp     which slot gets which tasks, and when
///   results.cpp      how results arrive, and how tasks and calls end
///   retry.cpp        which tasks of a lost or failed worker are retried
///   speculation.cpp  second copies of slow tasks
struct PoolState {
  static constexpr const char* name = "fiber.pool";

  explicit PoolState(caf::event_based_actor* self) : self(self) {}
  ~PoolState();
  caf::behavior make_behavior(PoolSettings with);

  struct CallRecord {
    std::shared_ptr<const Call> call;
    std::size_t submitted = 0, ended = 0;
    std::size_t to_come = 0;    ///< About how many tasks will follow soon.
    bool all_submitted = false; ///< No more tasks will come.
    bool cancelled = false;     ///< Tasks that come back end as Cancelled.
  };
  /// How long the tasks of one callable run, over all of its calls.
  struct Pace {
    double mean_ns = -1; ///< Negative if unknown.
    double weight = 0;   ///< Tasks behind mean_ns, up to a limit.
    /// Of each of them; only if a call of it gives slow tasks a copy.
    std::unique_ptr<DurationCounts> durations = {};

    void remember(const TaskResults& results);
  };
  struct SlotRef {
    std::uint64_t incarnation = 0;
    std::size_t slot = 0;
  };
  struct Child {
    std::size_t slots = 1;
    bool stopping = false;
    bool asked_to_stop = false; ///< The supervisor was.
  };

  // pool_actor.cpp
  void submit(const std::shared_ptr<const Batch>& batch);
  void end_call(std::uint64_t call);
  void cancel_call(std::uint64_t call);
  void overdue(const NodeOverdue& news);
  void kill_after_grace(const Node& node, std::size_t slot, std::uint64_t seq);
  void grace_over(const GraceOver& message);
  void terminate();
  ExitKind node_lost(const NodeLost& lost);
  std::exception_ptr why_none_will_start(const NodeLost& lost) const;
  void warn_of(const NodeLost& lost);
  void supervisor_down(const caf::error& reason);
  void give_up(std::exception_ptr why);
  void stop_if_closed();
  PoolStats stats() const;

  // workers.cpp
  void start_workers();
  void resize(std::size_t workers);
  int intensity() const;
  void reconcile();
  void stop_child(std::size_t ordinal);
  void autoscale(const Autoscale& message);
  void grow();
  void shrink();
  void schedule_scale_tick();
  void node_up(NodeUp& up);
  std::map<std::size_t, Child>::iterator child_of(const std::string& node_name);
  void drain(Node& node);
  void retire_if_empty(Node& node);
  std::size_t workers_up() const;
  void await_workers(const std::shared_ptr<WorkersReply>& up);
  void answer_waiting();

  // dispatch.cpp
  void dispatch();
  void place_suspects();
  void free_reserved(Node& node);
  void fill(Node& node, std::size_t slot);
  void append_run(Node& node, std::size_t slot, TaskRange tasks, NodeFrame& frame);
  void flush(Node& node, NodeFrame& frame);
  Pace& pace(const Call& call) { return paces[call.callable.open()]; }
  std::chrono::microseconds prefetch_time() const;
  double min_send_ns() const;
  std::size_t prefetch_limit(const Call& call, std::size_t bytes_per_task);
  void note_idle(Node& node, std::size_t slot);
  void recall(Node& node, std::size_t slot, std::size_t most);
  void steal();
  bool takes_tasks(const Node& node) const;

  // speculation.cpp
  void speculate();
  bool start_copy(Node& node, std::size_t slot);
  std::optional<std::chrono::nanoseconds> slow_after(const Call& call);
  std::deque<SlotRef>::iterator idle_slot_elsewhere(const Node& node);
  static bool other_copy_decides(TaskRange& task);
  static bool has_copy(const TaskRange& task);
  void stop_copies(const Twin& twin);

  // results.cpp
  void results(NodeResults& news);
  void handed_back(const NodeHandedBack& news);
  void finish(const TaskRange& task, detail::RawOutcome outcome);
  void fail(const TaskRange& tasks, const std::exception_ptr& error);
  void fail_all(const std::exception_ptr& error);
  std::exception_ptr timeout_error(const TaskRange& task) const;
  void deliver_completions();
  void drop_call_if_over(std::uint64_t call);

  // retry.cpp
  /// `again`: they ran, and do so once more.
  void requeue(TaskRange tasks, bool again);
  void recover_tasks(Node& node, const NodeLost& lost, bool blame, bool& charged);
  void charge(TaskRange task, const NodeLost& lost, bool crashed);

  caf::event_based_actor* self;
  PoolSettings settings;
  caf::actor supervisor;
  TaskQueue queue;
  std::unordered_map<std::uint64_t, CallRecord> calls;
  std::unordered_map<detail::Open, Pace> paces;
  std::map<std::uint64_t, Node> nodes;   ///< Those that are up, by incarnation.
  std::size_t slots_up = 0;              ///< Theirs.
  std::map<std::size_t, Child> children; ///< Those that the supervisor has, by ordinal.
  std::deque<SlotRef> idle;              ///< May hold some that are not any more.
  std::vector<std::shared_ptr<WorkersReply>> awaiting_workers;
  std::vector<Completion> completions; ///< Of `completing`, not delivered yet.
  std::shared_ptr<const Call> completed_call;
  std::exception_ptr failure; ///< Why the pool can run nothing any more.
  bool started = false, closed = false, ending = false;
  bool ever_up = false;        ///< One of its nodes was.
  bool losses_counted = false; ///< A loss counts against the supervisor's intensity.
  LossCause last_cause = LossCause::ended; ///< Of the last loss, as is
  int last_status = 0;                     ///< this.
  bool saturated = false;     ///< Every slot was asked; each is again when it answers.
  bool steal_pending = false; ///< A StealTick is under way.
  bool speculate_pending = false;    ///< A SpeculateTick is under way.
  std::size_t speculative_calls = 0; ///< Calls whose slow tasks get copies.
  std::optional<Autoscale> scale;
  bool scale_pending = false; ///< A ScaleTick is under way.
  std::optional<std::chrono::steady_clock::time_point>
    last_warning;                    ///< Of a lost worker.
  std::size_t unreported_losses = 0; ///< Lost workers since then.
  PoolStats totals;
  DurationCounts durations;
};

} // namespace fiber::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::StealTick)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::SpeculateTick)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::ProvenTick)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::ScaleTick)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::GraceOver)
