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

/// A pool's own knowledge and what it does with it. Handlers, calls and the end are in
/// pool_actor.cpp, workers in pool_workers.cpp, who gets which task in pool_dispatch.cpp,
/// copies of slow tasks in pool_copies.cpp, how tasks end in pool_results.cpp.
struct PoolState {
  static constexpr const char* name = "fiber.pool";

  explicit PoolState(caf::event_based_actor* self) : self(self) {}
  ~PoolState();
  caf::behavior make_behavior(PoolSettings with);

  struct CallRecord {
    std::shared_ptr<const Call> call;
    std::size_t submitted = 0, ended = 0;
    std::size_t to_come = 0; ///< About how many tasks will follow soon.
    bool fed = false;        ///< No more tasks will come.
    bool cancelled = false;  ///< Tasks that come back end as Cancelled.
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
  void submit(const std::shared_ptr<const TaskBatch>& batch);
  void end_call(std::uint64_t call);
  void cancel_call(std::uint64_t call);
  void overdue(const NodeOverdue& news);
  void end_later(const Node& node, std::size_t slot, std::uint64_t seq);
  void grace_over(const GraceOver& message);
  void terminate();
  ExitKind node_lost(const NodeLost& lost);
  std::exception_ptr why_none_will_start(const NodeLost& lost) const;
  void warn_of(const NodeLost& lost);
  void supervisor_down(const caf::error& reason);
  void give_up(std::exception_ptr why);
  void stop_if_closed();
  PoolStats stats() const;

  // pool_workers.cpp
  void start_workers();
  void resize(std::size_t workers);
  int intensity() const;
  void reconcile();
  void stop_child(std::size_t ordinal);
  void autoscale(const Autoscale& message);
  void grow();
  void shrink();
  void tick_scale();
  void node_up(NodeUp& up);
  std::map<std::size_t, Child>::iterator child_of(const std::string& node_name);
  void leave(Node& node);
  void retire_if_empty(Node& node);
  std::size_t workers_up() const;
  void await_workers(const std::shared_ptr<WorkersReply>& up);
  void answer_waiting();

  // pool_dispatch.cpp
  void dispatch();
  void place_suspects();
  void free_reserved(Node& node);
  void fill(Node& node, std::size_t slot);
  void append_run(Node& node, std::size_t slot, TaskRange tasks, NodeFrame& frame);
  void flush(Node& node, NodeFrame& frame);
  Pace& pace(const Call& call) { return paces[call.callable.open()]; }
  std::chrono::microseconds horizon() const;
  double grain_ns() const;
  std::size_t credit(const Call& call, std::size_t bytes_a_task);
  void note_idle(Node& node, std::size_t slot);
  void recall(Node& node, std::size_t slot, std::size_t most);
  void steal();
  bool usable(const Node& node) const;

  // pool_copies.cpp
  void speculate();
  bool copy(Node& node, std::size_t slot);
  std::optional<std::chrono::nanoseconds> slow_after(const Call& call);
  std::deque<SlotRef>::iterator idle_elsewhere(const Node& node);
  static bool leave_to_copy(TaskRange& task);
  static bool has_copy(const TaskRange& task);
  void stop_copies(const Twin& twin);

  // pool_results.cpp
  void results(NodeResults& news);
  void handed_back(const NodeHandedBack& news);
  void finish(const TaskRange& task, detail::RawOutcome outcome);
  void fail(const TaskRange& tasks, const std::exception_ptr& error);
  void fail_all(const std::exception_ptr& error);
  /// `again`: they ran, and do so once more.
  void come_back(TaskRange tasks, bool again);
  std::exception_ptr too_long(const TaskRange& task) const;
  void lose_tasks(Node& node, const NodeLost& lost, bool blame, bool& charged);
  void charge(TaskRange task, const NodeLost& lost, bool crashed);
  void deliver();
  void drop_call_if_over(std::uint64_t call);

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
  std::shared_ptr<const Call> completing;
  std::exception_ptr failure; ///< Why the pool can run nothing any more.
  bool started = false, closed = false, ending = false;
  bool ever_up = false;    ///< One of its nodes was.
  bool unforgiven = false; ///< A loss counts against the supervisor's intensity.
  LossCause last_cause = LossCause::ended; ///< Of the last loss, as is
  int last_status = 0;                     ///< this.
  bool saturated = false;      ///< Every slot was asked; each is again when it answers.
  bool ticking = false;        ///< A StealTick is under way.
  bool looking = false;        ///< A SpeculateTick is under way.
  std::size_t speculating = 0; ///< Calls whose slow tasks get copies.
  std::optional<Autoscale> scale;
  bool scaling = false; ///< A ScaleTick is under way.
  std::optional<std::chrono::steady_clock::time_point> warned; ///< Of a lost worker.
  std::size_t not_warned = 0; ///< Lost workers since then.
  PoolStats totals;
  DurationCounts durations;
};

} // namespace fiber::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::StealTick)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::SpeculateTick)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::ProvenTick)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::ScaleTick)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::GraceOver)
