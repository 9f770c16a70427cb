// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <caf/all.hpp>

#include "actors/pool/pool_state.hpp"
#include "actors/pool/pool_trace.hpp"

// How many workers there are: starting, resizing, scaling and retiring them.

namespace fiber::actors {
namespace {

constexpr std::chrono::seconds proven_after{10};
/// Least work that is worth the start of another worker.
constexpr double min_work_per_worker_ns = 1e8;

} // namespace

void PoolState::start_workers() {
  if (started || ending || failure)
    return;
  started = true;
  supervisor = spawn_supervisor(self->system(), {.name = settings.name,
                                                 .intensity = intensity(),
                                                 .period = std::nullopt,
                                                 .backoff = settings.backoff,
                                                 .seed = settings.seed,
                                                 .stop_together = true,
                                                 .children = {}});
  self->monitor(supervisor);
  reconcile();
}

void PoolState::resize(std::size_t workers) {
  settings.workers = workers;
  if (!started)
    return;
  if (supervisor)
    caf::anon_send(supervisor, LimitRestarts{intensity()});
  reconcile();
  answer_waiting();
}

int PoolState::intensity() const {
  return std::max(5, 2 * static_cast<int>(settings.workers));
}

/// Starts and stops children until the supervisor has those that settings.workers needs.
void PoolState::reconcile() {
  if (ending || failure)
    return;
  auto per_job = settings.workers_per_job;
  auto wanted = [&](std::size_t ordinal) {
    auto before = ordinal * per_job;
    return before >= settings.workers ? 0 : std::min(per_job, settings.workers - before);
  };
  for (auto& [ordinal, child] : children)
    if (wanted(ordinal) != child.slots && !child.stopping)
      stop_child(ordinal);
  for (std::size_t ordinal = 0; wanted(ordinal) > 0; ++ordinal) {
    if (children.count(ordinal) > 0 || shortage.missing.contains(ordinal))
      continue;
    if (shortage.lasts() && shortage.tried != ordinal) {
      shortage.missing.insert(ordinal);
      continue;
    }
    NodeOrder order{child_name(ordinal), ordinal * per_job, wanted(ordinal)};
    children[ordinal] = {.slots = order.slots};
    auto pool = caf::actor_cast<caf::actor>(self);
    caf::anon_send(
      supervisor,
      StartChild{
        {.name = order.name,
         .restart = Restart::permanent,
         .start = [start = settings.start_node, pool = caf::actor_addr(pool.address()),
                   order](caf::event_based_actor* parent) -> caf::actor {
           // By address, so that its nodes do not keep an unused pool alive.
           auto strong = caf::actor_cast<caf::actor>(pool);
           return strong ? start(parent, strong, order) : caf::actor{};
         },
         .stop_limit = std::chrono::seconds(10)}});
  }
}

/// Stops a child: at once if it is not up, else when its tasks are done.
void PoolState::stop_child(std::size_t ordinal) {
  children[ordinal].stopping = true;
  auto name = child_name(ordinal);
  auto node = std::find_if(nodes.begin(), nodes.end(),
                           [&](auto& entry) { return entry.second.name == name; });
  if (node != nodes.end()) {
    drain(node->second);
    return;
  }
  // Asks once: a second answer would be taken for one about the child's replacement.
  if (std::exchange(children[ordinal].asked_to_stop, true))
    return;
  auto gone = [this, ordinal] {
    children.erase(ordinal);
    if (shortage.missing.contains(ordinal))
      return;
    if (shortage.tried == ordinal) { // It is no longer wanted.
      shortage.tried.reset();
      try_later();
    }
    reconcile();
  };
  self->request(supervisor, caf::infinite, actors::StopChild{name})
    .then(gone, [gone](caf::error&) { gone(); });
}

// -- autoscale --

void PoolState::autoscale(const Autoscale& message) {
  scale = message;
  resize(started ? std::clamp(settings.workers, message.least, message.most)
                 : message.least);
  grow();
  schedule_scale_tick();
}

/// Adds as many workers as the waiting tasks can use: one for each task, or fewer if the
/// tasks are known to be short.
void PoolState::grow() {
  if (!scale || !started || settings.workers >= scale->most || ending || failure)
    return;
  auto tasks = queue.size() + queue.suspects();
  if (tasks == 0)
    return;
  for (auto& [incarnation, node] : nodes)
    tasks += node.outstanding();
  auto wanted = static_cast<double>(tasks);
  if (!queue.empty())
    if (auto mean = pace(*queue.next().batch->call).mean_ns; mean >= 0)
      wanted = std::min(wanted, std::ceil(wanted * mean / min_work_per_worker_ns));
  auto most = static_cast<double>(scale->most);
  auto workers = static_cast<std::size_t>(std::clamp(wanted, 1.0, most));
  if (workers > settings.workers) {
    resize(workers);
    schedule_scale_tick();
  }
}

/// Removes as many workers as have been idle for long.
void PoolState::shrink() {
  scale_pending = false;
  if (!scale || ending || failure)
    return;
  auto now = self->clock().now();
  std::size_t idle_for_long = 0;
  for (auto& [incarnation, node] : nodes) {
    auto busy_at = [](auto& slot) { return slot.last_progress; };
    auto last = std::ranges::max(node.slots, {}, busy_at).last_progress;
    if (!node.draining && node.idle() &&
        now - std::max(last, node.ready_since) >= scale->idle)
      idle_for_long += node.slots.size();
  }
  auto needed = settings.workers - std::min(settings.workers, idle_for_long);
  if (queue.empty() && queue.suspects() == 0 && settings.workers > scale->least)
    if (auto workers = std::max(needed, scale->least); workers < settings.workers)
      resize(workers);
  schedule_scale_tick();
}

void PoolState::schedule_scale_tick() {
  if (settings.workers > scale->least && !std::exchange(scale_pending, true))
    self->delayed_send(self, scale->idle / 4 + std::chrono::milliseconds(1), ScaleTick{});
}

// -- nodes --

void PoolState::node_up(NodeUp& up) {
  auto& node = nodes[up.incarnation];
  node.incarnation = up.incarnation;
  node.name = up.name;
  node.job = up.job;
  node.link = up.link;
  node.page = up.page;
  node.ready_since = self->clock().now();
  node.slots.resize(up.slots);
  slots_up += up.slots;
  if (settings.max_tasks_per_worker > 0)
    node.tasks_left = settings.max_tasks_per_worker * up.slots;
  answer_waiting();
  ever_up = true;
  if (losses_counted)
    self->delayed_send(self, proven_after, ProvenTick{up.incarnation});
  auto child = child_of(up.name);
  if (child != children.end()) {
    node.first_rank = child->first * settings.workers_per_job;
    found_room(child->first);
  }
  if (settings.trace) {
    settings.trace->worker_up(node);
    time_results(node);
  }
  if (ending || child == children.end() || child->second.stopping) {
    drain(node);
    return;
  }
  for (std::size_t i = 0; i < node.slots.size(); ++i)
    note_idle(node, i);
  dispatch();
}

void PoolState::trace_tasks(const std::shared_ptr<PoolTrace>& trace) {
  settings.trace = trace;
  for (auto& [incarnation, node] : nodes) {
    time_results(node);
    if (trace)
      trace->show(node);
  }
}

/// Tells the node whether the trace needs to know when tasks ran.
void PoolState::time_results(Node& node) {
  NodeFrame frame;
  Writer writer(frame.head);
  write(writer, Op::timing, settings.trace ? 1 : 0);
  flush(node, frame);
}

std::string PoolState::child_name(std::size_t ordinal) const {
  return settings.name + ".w" + std::to_string(ordinal);
}

std::map<std::size_t, PoolState::Child>::iterator
PoolState::child_of(const std::string& node_name) {
  auto begin = settings.name.size() + 2;
  std::size_t ordinal = 0;
  if (node_name.size() > begin)
    std::from_chars(node_name.data() + begin, node_name.data() + node_name.size(),
                    ordinal);
  return node_name == child_name(ordinal) ? children.find(ordinal) : children.end();
}

/// Gives the node no more tasks and recalls those that it has not started.
void PoolState::drain(Node& node) {
  node.draining = true;
  for (std::size_t i = 0; i < node.slots.size(); ++i)
    if (node.slots[i].outstanding() > 0)
      recall(node, i, UINT32_MAX);
  retire_if_empty(node);
}

void PoolState::retire_if_empty(Node& node) {
  if (node.tasks_left == 0)
    node.draining = true;
  if (!node.draining || node.retired || !node.idle())
    return;
  node.retired = true;
  NodeFrame frame;
  append_ended_calls(node, frame); // A retired job reads nothing more of its calls.
  Writer writer(frame.head);
  write(writer, Op::retire);
  flush(node, frame);
}

std::size_t PoolState::workers_up() const {
  std::size_t up = 0;
  for (auto& [incarnation, node] : nodes)
    up += node.draining ? 0 : node.slots.size();
  return up;
}

void PoolState::await_workers(const std::shared_ptr<WorkersReply>& up) {
  // A caller that has given up no longer holds its reply.
  std::erase_if(awaiting_workers, [](auto& waiting) { return waiting.use_count() == 1; });
  awaiting_workers.push_back(up);
  start_workers();
  answer_waiting();
}

void PoolState::answer_waiting() {
  auto hopeless = failure || ending;
  if (awaiting_workers.empty() || (!hopeless && workers_up() < settings.workers))
    return;
  for (auto& up : std::exchange(awaiting_workers, {}))
    up->set(failure    ? failure
            : hopeless ? std::make_exception_ptr(Closed("the pool has ended"))
                       : nullptr);
}

} // namespace fiber::actors
