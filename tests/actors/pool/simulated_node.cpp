// SPDX-License-Identifier: Apache-2.0
#include "tests/actors/pool/simulated_node.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "actors/core/exit.hpp"
#include "actors/pool/running_table.hpp"
#include "fiber/detail/caf/message_type.hpp"
#include "tests/actors/objects/late_sender.hpp"
#include "tests/actors/pool/simulated_slot.hpp"

namespace fiber::actors::simulation {

using std::chrono::microseconds;

// Timers of a node, sent to itself.
struct NodeAlarm {
  enum Kind { up, done, overdue, flush, fate, poisoned, gone, limit, duplicate };
  Kind kind = up;
  std::size_t slot = 0;
};

} // namespace fiber::actors::simulation

FIBER_ACTOR_MESSAGE(fiber::actors::simulation::NodeAlarm)

namespace fiber::actors::simulation {
namespace {

constexpr int exit_lease = 75;

struct NodeState {
  static constexpr const char* name = "fiber.simulated_node";
  explicit NodeState(caf::event_based_actor* self) : self(self) {}
  ~NodeState() {
    if (ledger) // Else it was killed before it began.
      --ledger->nodes_alive;
  }

  caf::behavior make_behavior() {
    ++ledger->nodes_alive;
    incarnation = ++ledger->incarnations;
    slots.resize(order.slots);
    draw_fate();
    hangs = plan().hangs && ledger->one_in(3);
    ledger->tell("+ node %llu %s fate %d\n", number(), order.name.c_str(),
                 static_cast<int>(fate));
    alarm(NodeAlarm::up, 0, ledger->below(20'000));
    self->set_exit_handler([this](caf::exit_msg&) { asked_to_end(); });
    return {
      [this](NodeAlarm alarm) { ring(alarm); },
      [this](const NodeFrame& frame) { receive(frame); },
      [this](KillNode) { die(-9, false); },
    };
  }

  const Plan& plan() const { return ledger->plan; }
  unsigned long long number() const { return incarnation; }

  void alarm(NodeAlarm::Kind kind, std::size_t slot, std::uint64_t us) {
    self->delayed_send(self, microseconds(us), NodeAlarm{kind, slot});
  }

  void draw_fate() {
    std::vector<Fate> possible;
    if (plan().kills)
      possible = {Fate::killed, Fate::killed_inside};
    if (plan().after_results)
      possible.push_back(Fate::killed_after);
    if (plan().failing_starts)
      possible.insert(possible.end(), {Fate::stillborn, Fate::no_room});
    if (plan().silences)
      possible.push_back(Fate::silent);
    if (plan().leases)
      possible.push_back(Fate::lease);
    if (plan().drains)
      possible.push_back(Fate::drained);
    if (possible.empty() || (!plan().storm && ledger->plan.losses_left <= 0) ||
        (!plan().storm && ledger->one_in(3)))
      return;
    --ledger->plan.losses_left;
    fate = possible[ledger->below(possible.size())];
    fate_at = 1 + ledger->below(8);
  }

  void ring(NodeAlarm alarm) {
    if (alarm.kind == NodeAlarm::gone)
      return report();
    if (alarm.kind == NodeAlarm::duplicate) {
      ledger->saw(Event::duplicate);
      // A duplicate frame has other values, so that the ledger sees it if it counts.
      self->send(pool, std::move(duplicates.front()));
      duplicates.pop_front();
      return;
    }
    if (dead)
      return;
    switch (alarm.kind) {
    case NodeAlarm::up:
      return come_up();
    case NodeAlarm::done:
      return done(alarm.slot);
    case NodeAlarm::overdue:
      return overdue(alarm.slot);
    case NodeAlarm::flush:
      slots[alarm.slot].flush_due = false;
      return flush(alarm.slot);
    case NodeAlarm::fate:
      return meet_fate();
    case NodeAlarm::poisoned:
      return die(-11, true);
    default:
      return die(-9, false);
    }
  }

  void come_up() {
    up = fate != Fate::stillborn && fate != Fate::no_room;
    if (!up)
      return die(1, false);
    if (plan().pages)
      page = backends::SharedPage::create(4096);
    self->send(pool, NodeUp{incarnation, order.name, "job" + std::to_string(incarnation),
                            order.slots, caf::actor_cast<caf::actor>(self), page});
    if (fate == Fate::killed || fate == Fate::drained || fate == Fate::silent ||
        fate == Fate::lease)
      alarm(NodeAlarm::fate, 0, ledger->below(40'000));
  }

  void meet_fate() {
    ledger->tell("! node %llu meets its fate\n", number());
    switch (fate) {
    case Fate::drained:
      return drain();
    case Fate::silent:
      return fall_silent();
    case Fate::lease:
      lease = true;
      return die(exit_lease, false);
    default:
      return die(-9, false);
    }
  }

  // -- messages of the pool --

  void receive(const NodeFrame& frame) {
    Bytes bytes = frame.head;
    bytes.insert(bytes.end(), frame.body.bytes().begin(), frame.body.bytes().end());
    Payload whole(std::move(bytes));
    try {
      Reader reader(whole.bytes());
      while (!reader.empty())
        obey(read_op(reader), reader, whole);
    } catch (const Error& error) {
      ledger->complain(std::string("a frame can't be read: ") + error.what());
    }
  }

  void obey(Op op, Reader& reader, const Payload& whole) {
    switch (op) {
    case Op::open: {
      auto open = read_open(reader, whole);
      calls[open.call] = std::make_shared<const OpenCall>(open);
      return;
    }
    case Op::run:
      return run(read_run(reader, whole));
    case Op::close:
      if (calls.erase(reader.get<std::uint64_t>()) == 0)
        ledger->complain("a call is closed that is not open");
      return;
    case Op::recall: {
      auto recall = read_recall(reader);
      return hand_back(recall.slot, recall.most);
    }
    case Op::stop:
      reader.get<std::uint64_t>(); // Its tasks may go on until the node is killed.
      return;
    case Op::stop_task:
      read_stop_task(reader);
      return;
    case Op::retire:
      retired = true;
      return finish();
    default:
      ledger->complain("an operation that is not for a node");
    }
  }

  void run(const RunTasks& tasks) {
    auto& slot = slots.at(tasks.slot);
    if (retired)
      ledger->complain("tasks for a node that was told to end");
    if (!calls.contains(tasks.call))
      return ledger->complain("tasks of a call that is not open");
    if (tasks.first_seq != slot.next_seq)
      ledger->complain("sequence numbers are not in a row");
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < tasks.lengths.size(); ++i) {
      Item item{slot.next_seq++, tasks.call, tasks.first_index + i,
                tasks.arguments.slice(begin, tasks.lengths[i]), calls.at(tasks.call)};
      begin += tasks.lengths[i];
      auto& story = ledger->story(item.call, item.index);
      auto attempt = static_cast<int>(tasks.attempt);
      if (attempt < story.last_attempt && !dead &&
          !plan().speculate) // With speculation a later run may overtake this one.
        ledger->complain("an attempt's number goes back");
      story.last_attempt = std::max(story.last_attempt, attempt);
      ledger->tell("  node %llu.%u gets %llu.%llu as %llu, attempt %u\n", number(),
                   tasks.slot, static_cast<unsigned long long>(item.call),
                   static_cast<unsigned long long>(item.index),
                   static_cast<unsigned long long>(item.seq), tasks.attempt);
      slot.queue.push_back(std::move(item));
      if (++given > plan().max_tasks * slots.size() + returned && plan().max_tasks > 0)
        ledger->complain("a worker gets more than max_tasks_per_worker");
    }
    if (calls.at(tasks.call)->single)
      calls.erase(tasks.call);
    start_next(tasks.slot);
  }

  void hand_back(std::uint32_t slot_number, std::size_t most) {
    if (dead)
      return;
    auto& slot = slots.at(slot_number);
    HandedBack back;
    back.slot = slot_number;
    back.from_seq = back.to_seq = slot.next_seq;
    for (; most > 0 && !slot.queue.empty(); --most, ++returned) {
      back.from_seq = slot.queue.back().seq;
      slot.queue.pop_back();
    }
    ledger->tell("  node %llu.%u hands back from %llu\n", number(), slot_number,
                 static_cast<unsigned long long>(back.from_seq));
    ledger->saw(Event::hand_back, back.to_seq - back.from_seq);
    self->send(pool, NodeHandedBack{incarnation, back});
    start_next(slot_number);
  }

  // -- the slots --

  void start_next(std::size_t i) {
    auto& slot = slots[i];
    if (dead || slot.running || slot.ended)
      return;
    if (slot.queue.empty()) {
      if (!finishing)
        return;
      flush(i);
      slot.ended = true;
      for (auto& other : slots)
        if (!other.ended)
          return;
      return die(0, false);
    }
    slot.running = std::move(slot.queue.front());
    slot.queue.pop_front();
    auto& task = *slot.running;
    auto& story = ledger->story(task.call, task.index);
    if (page)
      SlotProgress::announce(page->data(), i, task.seq);
    ledger->tell("  node %llu.%zu starts %llu\n", number(), i,
                 static_cast<unsigned long long>(task.seq));
    if (++story.starts > 1 && plan().max_retries == 0)
      ledger->complain(Ledger::name(task.call, task.index) +
                       " starts again in spite of max_retries = 0");
    // A copy may be in flight when the other one ends.
    if (story.delivered > 0 && !ledger->terminated && !plan().speculate &&
        !ledger->calls.at(task.call).cancelled)
      ledger->complain(Ledger::name(task.call, task.index) + " starts after it ended");
    auto kills = story.kills < 0 || story.starts <= story.kills;
    auto lasts = duration();
    alarm(kills ? NodeAlarm::poisoned : NodeAlarm::done, i, lasts);
    if (plan().limits && ledger->one_in(8)) {
      task.overdue = ledger->one_in(2); // Else reported only while the task runs.
      alarm(NodeAlarm::overdue, i, ledger->below(lasts + 1));
    }
    if (fate == Fate::killed_inside && ++started == fate_at)
      alarm(NodeAlarm::fate, 0, ledger->below(300));
  }

  std::uint64_t duration() {
    if (plan().slow && ledger->one_in(20))
      return ledger->below(3'000'000);
    return ledger->one_in(4) ? ledger->below(5'000) : ledger->below(200);
  }

  void overdue(std::size_t i) {
    auto& slot = slots[i];
    if (!slot.running)
      return;
    ledger->story(slot.running->call, slot.running->index).overdue = true;
    slot.running->overdue = true;
    self->send(
      pool, NodeOverdue{incarnation, {static_cast<std::uint32_t>(i), slot.running->seq}});
  }

  void done(std::size_t i) {
    auto& slot = slots[i];
    auto task = std::move(*slot.running);
    slot.running.reset();
    auto& story = ledger->story(task.call, task.index);
    if (!slot.pending.results.empty() &&
        slot.pending.first_seq + slot.pending.results.size() != task.seq)
      flush(i);
    if (slot.pending.results.empty())
      slot.pending.first_seq = task.seq;
    Bytes value;
    Writer writer(value);
    auto status = TaskResult::Status::value;
    if (task.overdue) {
      story.overdue = true;
      status = TaskResult::Status::overdue;
    } else if (story.throws < 0 || story.starts <= story.throws) {
      status = TaskResult::Status::failure;
      write(writer, Failure{"Simulated", "on purpose", "", {}});
    } else {
      Reader state(task.code->state.bytes());
      Reader arguments(task.arguments.bytes());
      task.code->open(state)->run(arguments, writer);
    }
    slot.pending.slot = static_cast<std::uint32_t>(i);
    slot.pending.results.push_back({status, value.size(), 0});
    slot.pending.busy_ns += 1000 * ledger->below(2000);
    slot.values.insert(slot.values.end(), value.begin(), value.end());
    slot.unsent.push_back(std::move(task));
    if (slot.queue.empty() || ledger->one_in(3))
      flush(i);
    else if (!std::exchange(slot.flush_due, true))
      alarm(NodeAlarm::flush, i, ledger->below(1000));
    start_next(i);
  }

  void flush(std::size_t i) {
    if (dead || slots[i].pending.results.empty())
      return;
    NodeResults news{incarnation, take_results(slots[i])};
    ledger->tell("  node %llu.%zu sends %zu results from %llu\n", number(), i,
                 news.results.results.size(),
                 static_cast<unsigned long long>(news.results.first_seq));
    if (plan().duplicates && ledger->one_in(4)) {
      duplicates.push_back(falsified(news));
      alarm(NodeAlarm::duplicate, 0, ledger->one_in(2) ? 0 : ledger->below(5'000));
    }
    self->send(pool, std::move(news));
    if (fate == Fate::killed_after && ++started >= fate_at)
      die(-9, false);
  }

  // -- the end --

  void finish() {
    finishing = true;
    for (std::size_t i = 0; i < slots.size(); ++i)
      start_next(i);
  }

  void drain() {
    if (std::exchange(draining, true))
      return;
    ledger->saw(Event::drain);
    self->send(pool, NodeDraining{incarnation});
    for (std::uint32_t i = 0; i < slots.size() && !dead; ++i)
      hand_back(i, SIZE_MAX);
  }

  void asked_to_end() {
    if (hangs)
      return; // Lingers until its supervisor kills it.
    if (!up || std::exchange(stopping, true))
      return die(-15, false);
    drain();
    finish();
    alarm(NodeAlarm::limit, 0, 2'000'000);
  }

  void die(int code, bool by_poison) {
    if (std::exchange(dead, true))
      return;
    exit_code = code;
    poisoned = by_poison;
    ledger->tell("! node %llu dies with %d\n", number(), code);
    alarm(NodeAlarm::gone, 0, ledger->one_in(2) ? 0 : ledger->below(2'000));
  }

  /// Declares the node dead. Results that come later must not count.
  void fall_silent() {
    dead = true;
    std::deque<NodeResults> late;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      auto& slot = slots[i];
      NodeResults news{incarnation, {}};
      news.results.slot = static_cast<std::uint32_t>(i);
      if (!slot.unsent.empty())
        news.results.first_seq = slot.pending.first_seq;
      else if (slot.running)
        news.results.first_seq = slot.running->seq;
      news.results.results.resize(slot.unsent.size() + (slot.running ? 1 : 0));
      if (!news.results.results.empty())
        late.push_back(falsified(news));
    }
    spawn_late_sender(self, std::move(late), pool, ledger);
    report();
  }

  void report() {
    self
      ->request(pool, caf::infinite,
                NodeLost{.incarnation = incarnation,
                         .name = order.name,
                         .exit_code = exit_code,
                         .lease = lease,
                         .planned = draining,
                         .confirmed = fate != Fate::silent,
                         .reason = "simulated",
                         .cause = cause_of(fate)})
      .then([this](std::uint8_t kind) { judged(static_cast<ExitKind>(kind)); },
            [this](caf::error&) { self->quit(make_exit(ExitKind::planned, "")); });
  }

  /// Runs when all messages of the pool have arrived.
  void judged(ExitKind kind) {
    ledger->tell("- node %llu is judged %d\n", number(), static_cast<int>(kind));
    auto blames = kind == ExitKind::charged || plan().max_retries == 0;
    auto note = [&](const Item& item) {
      auto& story = ledger->story(item.call, item.index);
      if (blames)
        story.exits.push_back(exit_code);
      if (blames && !poisoned)
        ++story.strange_losses;
    };
    for (auto& slot : slots) {
      for (auto& item : slot.unsent)
        note(item);
      if (slot.running)
        note(*slot.running);
      for (auto& item : slot.queue)
        note(item);
    }
    if (fate == Fate::silent && plan().max_retries == 0)
      go_on();
    self->quit(make_exit(kind, "simulated"));
  }

  /// A node that was declared dead, but has not ended, still starts some of its tasks.
  void go_on() {
    for (auto& slot : slots)
      for (auto n = ledger->below(slot.queue.size() + 1); n > 0; --n) {
        auto& item = slot.queue[n - 1];
        if (++ledger->story(item.call, item.index).starts > 1)
          ledger->complain(Ledger::name(item.call, item.index) +
                           " starts in a dead worker, and elsewhere");
      }
  }

  caf::event_based_actor* self;
  std::shared_ptr<Ledger> ledger;
  caf::actor pool;
  NodeOrder order;
  std::uint64_t incarnation = 0;
  Fate fate = Fate::none;
  std::uint64_t fate_at = 0, started = 0;
  std::size_t given = 0, returned = 0;
  std::vector<SimulatedSlot> slots;
  std::map<std::uint64_t, std::shared_ptr<const OpenCall>> calls;
  std::shared_ptr<backends::SharedPage> page;
  std::deque<NodeResults> duplicates;
  std::optional<int> exit_code;
  bool up = false, dead = false, draining = false, retired = false, finishing = false,
       stopping = false, hangs = false, lease = false, poisoned = false;
};

} // namespace

caf::actor spawn_simulated_node(caf::event_based_actor* supervisor,
                                const std::shared_ptr<Ledger>& ledger,
                                const caf::actor& pool, const NodeOrder& order) {
  if (ledger->plan.failing_starts &&
      (ledger->plan.storm || ledger->plan.losses_left > 0) && ledger->one_in(4)) {
    --ledger->plan.losses_left;
    throw std::runtime_error("no room");
  }
  return supervisor->spawn(
    [](caf::stateful_actor<NodeState>* self, const std::shared_ptr<Ledger>& with,
       const caf::actor& of, const NodeOrder& what) {
      self->state.ledger = with;
      self->state.pool = of;
      self->state.order = what;
      return self->state.make_behavior();
    },
    ledger, pool, order);
}

} // namespace fiber::actors::simulation
