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
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include "actors/core/exit.hpp"
#include "actors/pool/pool_actor.hpp"
#include "actors/pool/running_table.hpp"
#include "actors/pool/task_queue.hpp"
#include "fiber/detail/caf/message_type.hpp"

namespace fiber::actors {

// The timers of the pool, sent to itself.

/// Time to take back tasks that wait behind a slow one.
struct StealTick {};
/// Time to look for stragglers.
struct SpeculateTick {};
/// Time to tell nodes which calls are over.
struct CloseTick {};
/// The node has been up for long enough to show that workers can start.
struct ProvenTick {
  std::uint64_t incarnation = 0;
};

/// Time to start a worker again for which there was no room.
struct RoomTick {};
/// Time to look for idle workers.
struct ScaleTick {};
/// The grace period of a task that was told to stop is over.
struct GraceOver {
  std::uint64_t incarnation = 0;
  std::size_t slot = 0;
  std::uint64_t seq = 0; ///< The task's sequence number, or a later one.
};

/// The state of a pool and its methods, which several files define:
///   pool_actor.cpp   message handlers, calls, lost nodes, the end of the pool
///   workers.cpp      how many workers there are, and how they come and go
///   shortage.cpp     workers for which there is no room
///   dispatch.cpp     which slot gets which tasks, and when
///   results.cpp      how results arrive, and how tasks and calls end
///   retry.cpp        which tasks of a lost or failed worker are retried
///   speculation.cpp  copies of stragglers
struct PoolState {
  static constexpr const char* name = "fiber.pool";

  explicit PoolState(caf::event_based_actor* self) : self(self) {}
  ~PoolState();
  caf::behavior make_behavior(PoolSettings with);

  struct CallRecord {
    std::shared_ptr<const Call> call;
    std::size_t submitted = 0, ended = 0;
    std::size_t to_come = 0;    ///< Estimate of the tasks that will follow soon.
    bool all_submitted = false; ///< No more tasks will come.
    bool cancelled = false;     ///< Requeued tasks end as Cancelled.
  };
  /// How long the tasks of one callable run, over all of its calls.
  struct Pace {
    double mean_ns = -1; ///< Negative if unknown.
    double weight = 0;   ///< Number of tasks in mean_ns, up to a limit.
    /// Null unless a call of this callable copies stragglers.
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
    bool asked_to_stop = false; ///< The supervisor was asked to stop this child.
  };
  /// Children that could not be started for lack of something.
  struct Shortage {
    std::set<std::size_t> missing = {};    ///< Their ordinals.
    std::optional<std::size_t> tried = {}; ///< The one that is being started again.
    int failures = 0;                      ///< Tries in a row that have failed.
    std::string reason = {};               ///< Why the last one could not be started.
    int status = 0;
    /// Since then there has been no worker.
    std::optional<std::chrono::steady_clock::time_point> idle_since = {};
    bool pending = false; ///< A RoomTick is pending.
    bool told = false;    ///< The log says how many workers there are.

    bool lasts() const { return tried || !missing.empty(); }
  };

  // pool_actor.cpp
  void submit(const std::shared_ptr<const TaskBatch>& batch);
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
  PoolReport report() const;

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
  std::string child_name(std::size_t ordinal) const;
  std::map<std::size_t, Child>::iterator child_of(const std::string& node_name);
  void trace_tasks(const std::shared_ptr<PoolTrace>& trace);
  void time_results(Node& node);
  void drain(Node& node);
  void retire_if_empty(Node& node);
  std::size_t workers_up() const;
  void await_workers(const std::shared_ptr<WorkersReply>& up);
  void answer_waiting();

  // shortage.cpp
  bool wait_for_room(const NodeLost& lost);
  void try_later();
  void shortage_tick();
  void try_next();
  void found_room(std::size_t ordinal);
  bool any_starting() const;

  // dispatch.cpp
  void dispatch();
  void place_suspects();
  void free_reserved(Node& node);
  void fill(Node& node, std::size_t slot);
  void append_run(Node& node, std::size_t slot, TaskRange tasks, NodeFrame& frame);
  void flush(Node& node, NodeFrame& frame);
  static void append_ended_calls(Node& node, NodeFrame& frame);
  void note_ended(const Call& call);
  void close_ended_calls();
  Pace& pace(const Call& call) { return paces[call.callable.open()]; }
  std::chrono::microseconds prefetch_time() const;
  double min_send_ns() const;
  std::size_t prefetch_limit(const Call& call, std::size_t bytes_per_task);
  void note_idle(Node& node, std::size_t slot);
  void recall(Node& node, std::size_t slot, std::size_t most);
  void note_to_come(std::size_t tasks);
  void steal();
  void steal_later(std::chrono::nanoseconds delay);
  void steal_tick();
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
  void note_durations(const Slot& slot, const TaskResults& frame);
  void take_result(const Node& node, Slot& slot, const TaskResults& frame, std::size_t i);
  void handed_back(const NodeHandedBack& news);
  void finish(const TaskRange& task, detail::RawOutcome outcome);
  void fail(const TaskRange& tasks, const std::exception_ptr& error);
  void fail_all(const std::exception_ptr& error);
  std::exception_ptr timeout_error(const TaskRange& task) const;
  void note_failure(const TaskRange& task, const std::exception_ptr& error);
  void deliver_completions();
  void drop_call_if_over(std::uint64_t call);

  // retry.cpp
  /// `ran`: they have run, so this is a retry.
  void requeue(TaskRange tasks, bool ran);
  bool retry_exception(const TaskRange& task, std::uint32_t runs);
  void recover_tasks(Node& node, const NodeLost& lost, bool blame, bool& charged);
  void charge(TaskRange task, const NodeLost& lost, bool crashed);

  caf::event_based_actor* self;
  PoolSettings settings;
  caf::actor supervisor;
  TaskQueue queue;
  std::unordered_map<std::uint64_t, CallRecord> calls;
  std::unordered_map<detail::Open, Pace> paces;
  std::map<std::uint64_t, Node> nodes;   ///< Nodes that are up, by incarnation.
  std::size_t slots_up = 0;              ///< Slots of these nodes.
  std::map<std::size_t, Child> children; ///< The supervisor's children, by ordinal.
  Shortage shortage;
  std::deque<SlotRef> idle; ///< Idle slots; some may be busy or gone.
  std::vector<std::shared_ptr<WorkersReply>> awaiting_workers;
  std::vector<Completion> completions; ///< Of `completing`, not yet delivered.
  std::shared_ptr<const Call> completed_call;
  std::exception_ptr failure; ///< Why the pool can run no more tasks.
  bool started = false, closed = false, ending = false;
  bool ever_up = false; ///< A node has been up.
  /// A loss counts against the supervisor's intensity, and is not yet forgiven.
  bool losses_counted = false;
  LossCause last_cause = LossCause::ended; ///< Cause of the last loss.
  int last_status = 0;                     ///< Status of the last loss.
  bool saturated = false;     ///< Every slot is full; one that answers is refilled.
  bool steal_pending = false; ///< A StealTick is pending.
  std::chrono::steady_clock::time_point no_steal_before; ///< No slot loses tasks before.
  bool close_pending = false;                            ///< A CloseTick is pending.
  /// steal() has seen no slot with a second task, and none was given one since. Without
  /// this each of the last results of a call costs a look at every slot.
  bool nothing_ahead = false;
  bool speculate_pending = false;    ///< A SpeculateTick is pending.
  std::size_t speculative_calls = 0; ///< Calls whose stragglers are copied.
  std::optional<Autoscale> scale;
  bool scale_pending = false; ///< A ScaleTick is pending.
  std::optional<std::chrono::steady_clock::time_point>
    last_warning;                    ///< Of a lost worker.
  std::size_t unreported_losses = 0; ///< Lost workers since the last warning.
  PoolStats totals;
  DurationCounts durations;
};

} // namespace fiber::actors

FIBER_ACTOR_MESSAGE(fiber::actors::StealTick)
FIBER_ACTOR_MESSAGE(fiber::actors::SpeculateTick)
FIBER_ACTOR_MESSAGE(fiber::actors::CloseTick)
FIBER_ACTOR_MESSAGE(fiber::actors::ProvenTick)
FIBER_ACTOR_MESSAGE(fiber::actors::ScaleTick)
FIBER_ACTOR_MESSAGE(fiber::actors::RoomTick)
FIBER_ACTOR_MESSAGE(fiber::actors::GraceOver)
