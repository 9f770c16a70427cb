// SPDX-License-Identifier: Apache-2.0
#include "actors/job/node_actor.hpp"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include <caf/all.hpp>

#include "actors/share/share_cache.hpp"
#include "base/code_place.hpp"
#include "base/log.hpp"
#include "fiber/detail/caf/message_type.hpp"

namespace fiber::actors {

// Timers of the node, sent to itself.
struct DeadlineTick {}; ///< Time to check for overdue tasks.
struct PeersTick {};    ///< Time to drop peers that are gone and read to their end.

} // namespace fiber::actors

FIBER_ACTOR_MESSAGE(fiber::actors::DeadlineTick)
FIBER_ACTOR_MESSAGE(fiber::actors::PeersTick)

namespace fiber::actors {
namespace {

/// Exit codes of a job that ends itself.
constexpr int exit_protocol = 70, exit_initializer = 71;
constexpr std::chrono::milliseconds peers_interval{500};

struct NodeState {
  static constexpr const char* name = "fiber.node";

  explicit NodeState(caf::event_based_actor* self) : self(self) {}

  caf::behavior make_behavior(NodeParts with) {
    parts = std::move(with);
    return {
      [this](FromLink& from) { receive(from); },
      [this](const FromPeer& from) {
        parse_from("another job", [&] {
          parts.objects->heard_peer(from.process, from.link, from.message);
        });
      },
      [this](PeerClosed closed) {
        parts.objects->closed_peer(closed.process, closed.link);
      },
      [this](PeersTick) {
        peers_tick_pending = false;
        parts.objects->peers().end_dying();
        schedule_peers_tick();
      },
      [this](SlotReady) {
        if (++ready == parts.slots.size() && !draining)
          send(Ready{parts.incarnation, static_cast<std::uint32_t>(parts.slots.size()),
                     static_cast<std::int32_t>(getpid()), build_id()});
      },
      [this](SlotFailed& failed) {
        Bytes head;
        Writer writer(head);
        write(writer, Op::init_failed);
        write(writer, failed.failure);
        parts.link->send(task_stream, std::move(head));
        parts.abort(exit_initializer);
      },
      [this](DrainNode) { drain(); },
      [this](DeadlineTick) { check_deadlines(); },
      // The link handler ends the job on silence and on the end of the link.
      [](LinkSilent) {},
      [](const LinkClosed&) {},
    };
  }

  template <class Message>
  void send(const Message& message) {
    Bytes head;
    Writer writer(head);
    write(writer, message);
    parts.link->send(task_stream, std::move(head));
  }

  void receive(FromLink& from) {
    parse_from("the driver", [&] {
      Reader reader(from.message.bytes());
      while (!reader.empty())
        handle(read_op(reader), reader, from.message);
    });
  }

  template <class F>
  void parse_from(const char* who, F read) {
    try {
      read();
    } catch (const std::exception& error) {
      log().error("{} sent a malformed message: {}", who, error.what());
      parts.abort(exit_protocol);
    }
  }

  void handle(Op op, Reader& reader, const Payload& whole) {
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
      for (auto& slot : parts.slots)
        slot->stop(call);
      return;
    }
    case Op::stop_task: {
      auto stop = read_stop_task(reader);
      return slot(stop.slot).stop_task(stop.seq);
    }
    case Op::retire:
      for (auto& slot : parts.slots)
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
      return parts.objects->heard(0, op, reader, whole);
    case Op::process_gone: {
      auto rest = reader;
      if (parts.peers)
        parts.peers->forget(rest.get<std::uint64_t>());
      parts.objects->heard(0, op, reader, whole);
      return schedule_peers_tick();
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

  void close(std::uint64_t call) {
    calls.erase(call);
    for (auto& slot : parts.slots)
      slot->close(call);
  }

  void time_results(bool timed) {
    for (auto& slot : parts.slots)
      slot->time_results(timed);
  }

  PeerLinks& peers() {
    if (!parts.peers)
      throw Error("there are no other jobs");
    return *parts.peers;
  }

  void schedule_peers_tick() {
    if (parts.objects->peers().dying() && !std::exchange(peers_tick_pending, true))
      self->delayed_send(self, peers_interval, PeersTick{});
  }

  void answer_probe() {
    std::chrono::nanoseconds clock = SlotWorker::Clock::now().time_since_epoch();
    Bytes head;
    Writer writer(head);
    writer.put(Op::probed);
    writer.put(std::int64_t{clock.count()});
    parts.link->send(task_stream, std::move(head));
  }

  SlotWorker& slot(std::uint32_t i) {
    if (i >= parts.slots.size())
      throw Error("it has no worker " + std::to_string(i) + ", only " +
                  std::to_string(parts.slots.size()));
    return *parts.slots[i];
  }

  void open(OpenCall op) {
    CallCode code{op.call, op.single, op.open, std::move(op.problem),
                  std::move(op.state)};
    if (op.call == initializer_call)
      return parts.initialize(std::move(code));
    calls[op.call] = std::make_shared<const CallCode>(std::move(code));
  }

  void run(RunTasks tasks) {
    auto call = calls.find(tasks.call);
    if (call == calls.end())
      throw Error("tasks of an unknown call " + std::to_string(tasks.call));
    auto code = call->second;
    if (code->single)
      calls.erase(call);
    auto& worker = slot(tasks.slot);
    worker.push(std::move(tasks), std::move(code));
    if (parts.task_timeout.count() > 0 && !std::exchange(deadline_pending, true))
      self->delayed_send(self, parts.task_timeout, DeadlineTick{});
  }

  void check_deadlines() {
    auto now = SlotWorker::Clock::now();
    std::optional<SlotWorker::Clock::time_point> again;
    for (std::uint32_t i = 0; i < parts.slots.size(); ++i) {
      auto check = parts.slots[i]->check_deadline(now);
      if (check.overdue)
        send(Overdue{i, *check.overdue});
      if (check.again)
        again = std::min(again.value_or(*check.again), *check.again);
    }
    deadline_pending = again.has_value();
    if (deadline_pending)
      self->delayed_send(self, *again - now, DeadlineTick{});
  }

  void drain() {
    if (std::exchange(draining, true))
      return; // An engine may ask more than once.
    send(Op::draining);
    for (auto& slot : parts.slots)
      send(slot->recall(SIZE_MAX));
    // More tasks may be in flight, so the slots finish only when the driver sends
    // Op::retire. If the driver is suspended, the job waits for it so that no task is
    // lost, until its engine kills it or its lease expires. Of a node that is not ready
    // the driver knows nothing, so it need not wait.
    if (ready < parts.slots.size())
      for (auto& slot : parts.slots)
        slot->finish();
  }

  caf::event_based_actor* self;
  NodeParts parts;
  std::size_t ready = 0;
  bool draining = false;
  bool deadline_pending = false;   ///< A DeadlineTick is pending.
  bool peers_tick_pending = false; ///< A PeersTick is pending.
  std::unordered_map<std::uint64_t, std::shared_ptr<const CallCode>> calls;
};

/// The actor of the node. While any thread runs it, messages from links wait.
class NodeActor final : public caf::stateful_actor<NodeState> {
public:
  NodeActor(caf::actor_config& config, NodeParts parts)
    : stateful_actor(config), objects_(parts.objects), parts_(std::move(parts)) {}
  caf::behavior make_behavior() override {
    return state.make_behavior(std::move(parts_));
  }
  resume_result resume(caf::execution_unit* unit, std::size_t most) override {
    ObjectSpace::BorrowedThreadScope scope(objects_.get());
    return stateful_actor::resume(unit, most);
  }

private:
  const std::shared_ptr<ObjectSpace> objects_;
  NodeParts parts_;
};

} // namespace

caf::actor spawn_node(caf::actor_system& system, NodeParts parts) {
  return system.spawn<NodeActor>(std::move(parts));
}

} // namespace fiber::actors
