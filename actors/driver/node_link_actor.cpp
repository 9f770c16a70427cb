// SPDX-License-Identifier: Apache-2.0
#include "actors/driver/node_link_actor.hpp"

#include <algorithm>
#include <utility>

#include <caf/all.hpp>
#include <fmt/format.h>

#include "actors/core/exit.hpp"
#include "actors/driver/backend_actor.hpp"
#include "actors/driver/fenced_job.hpp"
#include "actors/driver/job_handler.hpp"
#include "actors/driver/node_job.hpp"
#include "actors/driver/start_clock.hpp"
#include "actors/pool/pool_trace.hpp"
#include "actors/protocol/job_log.hpp"
#include "actors/trace/clock_offset.hpp"
#include "base/log.hpp"
#include "fiber/detail/caf/message_type.hpp"
#include "wire/silence.hpp"
#include "wire/stream_link.hpp"

namespace fiber::actors {

struct StartTick {}; ///< Time to check the start deadline.
struct ProbeTick {}; ///< Time to ask whether the node answers.
struct LingerTick {  ///< Of link and job one has ended; the other is due to end.
  int stage = 0;
};

} // namespace fiber::actors

FIBER_ACTOR_MESSAGE(fiber::actors::StartTick)
FIBER_ACTOR_MESSAGE(fiber::actors::ProbeTick)
FIBER_ACTOR_MESSAGE(fiber::actors::LingerTick)

namespace fiber::actors {
namespace {

constexpr std::chrono::seconds job_end_wait{2};      ///< End of the link to a kill.
constexpr std::chrono::seconds exit_report_wait{10}; ///< Kill to "exit unknown".
constexpr std::chrono::seconds term_grace{2};        ///< SIGTERM to SIGKILL.

struct NodeLinkState {
  static constexpr const char* name = "fiber.node_link";
  explicit NodeLinkState(caf::event_based_actor* self) : self(self) {}

  caf::behavior make_behavior(std::shared_ptr<const NodeServices> with,
                              std::shared_ptr<const NodeTemplate> like, caf::actor of,
                              NodeOrder with_order) {
    services = std::move(with);
    job_template = std::move(like);
    pool = std::move(of);
    order = std::move(with_order);
    for_process = job_template->use != NodeUse::pool;
    starting = {services->start_deadline, services->queue_deadline};
    probes = {probe_interval(), services->lease};
    node.name = lost.name = order.name;
    node.incarnation = lost.incarnation = services->next_incarnation();
    self->set_exit_handler([this](caf::exit_msg& message) { stop(message.reason); });
    create();
    return {
      [this](LinkArrived& arrived) {
        node.link = std::move(arrived.link);
        use_link();
      },
      [this](FromLink& from) { receive(from); },
      [this](NodeFrame& frame) {
        if (node.link)
          node.link->send(task_stream, std::move(frame.head), std::move(frame.body));
      },
      [this](KillNode) { end_job(std::chrono::milliseconds(0)); },
      [this](EndNode end) { end_node(end.grace); },
      [this](JobOutput& output) { lost.output = std::move(output.text); },
      [this](const backends::JobEvent& event) { job_event(event); },
      [this](LinkSilent) {
        if (startup.up) // Until then only the start deadline counts: main() may block.
          declare_dead("silent for " + seconds(services->heartbeat_timeout));
      },
      [this](const LinkClosed& closed) {
        node.link_gone = true;
        startup.link_end = closed.reason;
        services->objects->disconnect(node.incarnation, job_name);
        if (!node.job_gone)
          self->delayed_send(self, job_end_wait, LingerTick{0});
        log().debug("{}: link closed: {}", node.name, closed.reason);
        end_if_gone();
      },
      [this](StartTick) { check_start(); },
      [this](ProbeTick) { probe(); },
      [this](LingerTick tick) { linger(tick.stage); },
    };
  }

  static std::string seconds(std::chrono::milliseconds d) {
    return fmt::format("{} s", static_cast<double>(d.count()) / 1000);
  }

  // -- start --

  void create() {
    auto job = make_node_job(*services, *job_template, order, node.incarnation);
    job_name = job.spec.name;
    startup = {.build = services->build, .dialled = std::move(job.dialled)};
    auto me = caf::actor_cast<caf::actor>(self);
    services->arrivals->expect(node.incarnation, me);
    services->roster->expect(node.incarnation, {.node = order.name,
                                                .job = job_name,
                                                .kind = job_template->kind,
                                                .slots = order.slots});
    self
      ->request(services->backend, caf::infinite,
                CreateJob{std::make_shared<backends::JobSpec>(std::move(job.spec)), me,
                          for_process})
      .then([this](JobCreated& created) { job_created(created); },
            [this](caf::error&) { never_created("the job backend has ended"); });
  }

  void never_created(std::string why) {
    lost.reason = std::move(why);
    node.job_gone = true;
    node.link = nullptr;
    end_if_gone();
  }

  void job_created(JobCreated& created) {
    if (!created.job) {
      lost.cause = cause_of_refusal(created.status, created.problem);
      lost.status = created.status;
      never_created(created.problem);
      return;
    }
    node.job = std::move(created.job);
    services->roster->created(node.incarnation, node.job->id);
    if (for_process)
      self->send(pool, NodeCreated{node.incarnation, node.job->id});
    check_start();
    if (node.job->link)
      node.link =
        wire::adopt(*services->reactor, std::move(node.job->link), link_options());
    use_link();
    if (stopping)
      end_job(std::chrono::milliseconds(0));
  }

  void check_start() {
    if (startup.up || ended || !lost.reason.empty())
      return;
    auto over = starting.tick(self->clock().now());
    if (over == StartClock::Over::start)
      return give_up(LossCause::late, "not ready after " +
                                        seconds(services->start_deadline) +
                                        " (start_deadline)");
    if (over == StartClock::Over::queue)
      return give_up(LossCause::queued,
                     "waited " + seconds(services->queue_deadline) +
                       " to be started (queue_deadline): " + waits_for);
    self->delayed_send(self, starting.next(), StartTick{});
  }

  /// Ends a job that will never be a node.
  void give_up(LossCause cause, std::string why) {
    lost.cause = cause;
    lost.reason = std::move(why);
    end_job(std::chrono::milliseconds(0));
  }

  // Deadlines are counted in ticks, so that time in which this process was suspended does
  // not count.
  std::chrono::milliseconds probe_interval() const {
    return std::max(services->lease / 4, std::chrono::milliseconds(1));
  }

  wire::LinkOptions link_options() const {
    wire::LinkOptions options;
    options.heartbeat_interval = services->heartbeat_timeout / 4;
    options.silence_limit = services->heartbeat_timeout;
    return options;
  }

  /// Starts the link once the job is known too: its page is needed from the first message
  /// on.
  void use_link() {
    if (!node.link || !node.job)
      return;
    services->objects->connect(node.incarnation, node.link);
    if (node.job->page)
      services->objects->set_ledger(node.incarnation,
                                    std::make_shared<JobLedger>(node.job->page));
    node.handler = handler = std::make_shared<JobHandler>(
      self->system(), caf::actor_cast<caf::actor>(self), services->waiting, node.link);
    node.link->start(node.handler);
    if (auto& code = job_template->initializer; code.open != nullptr) {
      Bytes head;
      Writer writer(head);
      write(writer, OpenCall{initializer_call, false, code.open, {}, code.state});
      self->send(pool, NodeShare{head.size() + code.state.size()});
      node.link->send(task_stream, std::move(head), code.state);
    }
  }

  void node_ready(const Ready& ready) {
    if (ready.incarnation != node.incarnation || ready.build != services->build) {
      give_up(LossCause::other_build, "the job runs build " + ready.build +
                                        ", this program is build " + services->build);
      return;
    }
    if (lost.cause != LossCause::ended) // It was given up, and is being ended.
      return end_job(std::chrono::milliseconds(0));
    if (startup.up)
      throw Error("it is ready for the second time");
    if (ready.slots != order.slots)
      throw Error("it is ready with " + std::to_string(ready.slots) +
                  " workers instead of " + std::to_string(order.slots));
    startup.up = true;
    services->roster->up(node.incarnation, ready.pid, node.link);
    finish_start();
    probe();
    self->send(pool, NodeUp{node.incarnation, order.name, job_name, ready.slots,
                            caf::actor_cast<caf::actor>(self),
                            node.job ? node.job->page : nullptr, ready.pid});
  }

  void finish_start() {
    if (!std::exchange(start_finished, true))
      self->send(services->backend, StartFinished{job_name});
  }

  // -- messages of the job --

  void receive(const FromLink& from) {
    try {
      Reader reader(from.message.bytes());
      while (!reader.empty() && !ended) // Then it is fenced: nothing of it is used.
        handle(read_op(reader), reader, from);
    } catch (const std::exception& error) {
      declare_dead(std::string("sent a malformed message: ") + error.what());
    }
  }

  void handle(Op op, Reader& reader, const FromLink& from) {
    const auto& whole = from.message;
    switch (op) {
    case Op::ready:
      return node_ready(read_ready(reader));
    case Op::results:
      return use_results(read_results(reader, whole), from.waits);
    case Op::timed_results:
      return use_results(read_results(reader, whole, true), from.waits);
    case Op::handed_back:
      return self->send(
        pool, NodeHandedBack{node.incarnation, read_handed_back(reader), from.waits});
    case Op::overdue:
      return self->send(pool,
                        NodeOverdue{node.incarnation, read_overdue(reader), from.waits});
    case Op::draining:
      if (std::exchange(draining, true))
        return;
      services->roster->draining(node.incarnation);
      self->send(pool, NodeDraining{node.incarnation});
      return retire_if_stopping();
    case Op::init_failed:
      lost.reason = reason_of_initializer(read_failure(reader));
      return;
    case Op::probed:
      answered = true;
      clock.answered(std::chrono::nanoseconds(read_clock(reader)),
                     std::chrono::steady_clock::now());
      return;
    case Op::fetch:
      handler->answering();
      [[fallthrough]];
    case Op::share_waits:
    case Op::share_arrived:
    case Op::share_place:
    case Op::share_listens:
    case Op::retain:
    case Op::release:
      return share(op, reader);
    case Op::chaos:
      return note_chaos(reader.get<ChaosNote>());
    case Op::lease_over:
      lost.lease = true;
      return;
    case Op::log:
      return logged(read_log(reader));
    case Op::puts:
    case Op::object:
    case Op::object_retain:
    case Op::object_release:
    case Op::received:
    case Op::peer_listens:
      handler->answering();
      return services->objects->heard(node.incarnation, op, reader, whole);
    default:
      throw Error("operation " + std::to_string(static_cast<int>(op)) +
                  " is not for a driver");
    }
  }

  void share(Op op, Reader& reader) {
    if (auto sent = services->shares->heard(node.incarnation, op, reader, node.link))
      self->send(pool, NodeShare{sent});
  }

  void logged(const LogRecord& record) {
    log_for_job(job_name, record);
    logs += record.text + "\n";
    if (logs.size() > 2 * max_last_bytes)
      logs = last_lines(logs, max_last_lines, max_last_bytes) + "\n";
  }

  void use_results(TaskResults results, const StillWaits& waits) {
    for (auto& time : results.times)
      time.began_ns = static_cast<std::int64_t>( // It may be anything: no overflow.
        static_cast<std::uint64_t>(time.began_ns) -
        static_cast<std::uint64_t>(clock.value().count()));
    self->send(pool, NodeResults{node.incarnation,
                                 attach_handles(std::move(results), node.incarnation,
                                                *services->objects),
                                 waits});
  }

  void note_chaos(const ChaosNote& note) {
    auto& counts = *services->chaos_counts;
    ++(note.fate == Chaos::Fate::kill ? counts.kills : counts.stalls);
    if (job_template->trace)
      job_template->trace->chaos(note.worker, note.fate);
  }

  /// Asks whether the actors behind the link answer: the link itself lives as long as the
  /// process does.
  void probe() {
    if (probes.tick(self->clock().now(), std::exchange(answered, false))) {
      declare_dead("its actors did not answer for " + seconds(services->lease));
      return;
    }
    Bytes head;
    Writer writer(head);
    write(writer, Op::probe);
    clock.asked(std::chrono::steady_clock::now());
    node.link->send(task_stream, std::move(head));
    self->delayed_send(self, probe_interval(), ProbeTick{});
  }

  // -- end --

  void job_event(const backends::JobEvent& event) {
    if (!event.is_last()) {
      startup.runs = startup.runs || event.kind == backends::JobEvent::Kind::started;
      waits_for = startup.runs ? "" : event.detail;
      starting.in_queue(self->clock().now(), !startup.runs && event.is_in_queue());
      services->roster->waits(node.incarnation, waits_for);
      return;
    }
    node.job_gone = true;
    disrupted = event.disrupted;
    startup.linked = node.link != nullptr;
    describe_end(lost, event, startup, for_process);
    if (node.link && !node.link_gone)
      self->delayed_send(self, link_end_wait, LingerTick{0});
    end_if_gone();
  }

  void linger(int stage) {
    if (node.job_gone && node.link && !node.link_gone) {
      node.link->close(); // A process that the job started holds the other end.
    } else if (node.link_gone && !node.job_gone) {
      startup.outlived_link(node.job.get());
      end_job(std::chrono::milliseconds(0));
      if (stage == 0)
        return self->delayed_send(self, exit_report_wait, LingerTick{1});
      node.job_gone = true;
      lost.reason = "exit unknown (the engine did not report it)";
      end_if_gone();
    }
  }

  void end_job(std::chrono::milliseconds grace) {
    if (node.job && !node.job_gone) {
      startup.asked_to_end = true;
      self->send(services->backend, EndJob{node.job->id, grace});
    }
  }

  void stop(const caf::error& reason) {
    auto at_once = reason == caf::exit_reason::kill || stopping || !startup.up;
    end_node(at_once ? std::chrono::milliseconds(0) : term_grace);
    if (!at_once)
      retire_if_stopping();
  }

  /// Ends the job; one that is being created ends as soon as it exists.
  void end_node(std::chrono::milliseconds grace) {
    stopping = true;
    if (!node.job && !node.job_gone)
      self->send(services->backend, CancelJob{job_name});
    end_job(grace);
  }

  /// Retires a node that drains while it is to stop. Otherwise the pool retires it, when
  /// no task is in flight.
  void retire_if_stopping() {
    if (!draining || !stopping || !node.link)
      return;
    Bytes head;
    Writer writer(head);
    write(writer, Op::retire);
    node.link->send(task_stream, std::move(head));
  }

  void declare_dead(const std::string& why) {
    if (std::exchange(ended, true))
      return;
    lost.reason = why;
    lost.declared_dead = true;
    services->objects->disconnect(node.incarnation, job_name);
    services->shares->job_fenced(node.incarnation);
    auto fenced = spawn_fenced_job(self, node, services->shares, pool);
    if (node.job)
      self->send(services->backend, WatchJob{node.job->id, fenced});
    end_job(std::chrono::milliseconds(0));
    if (node.handler)
      node.handler->to(fenced);
    report();
  }

  void end_if_gone() {
    if (!node.job_gone || (node.link && !node.link_gone) || std::exchange(ended, true))
      return;
    services->shares->job_gone(node.incarnation);
    report();
  }

  /// Reports the loss to the pool, which judges it, and ends with the kind it answers.
  void report() {
    services->arrivals->forget(node.incarnation);
    finish_start();
    auto text = lost.reason.empty() ? std::string("ended") : lost.reason;
    auto& lines = lost.last.lines;
    lines = last_lines(logs + lines, max_last_lines, max_last_bytes);
    lost.planned = draining || disrupted;
    services->roster->lost(node.incarnation, lost.reason, lost.exit_code,
                           lost.planned || stopping);
    self->request(pool, caf::infinite, std::move(lost))
      .then([this, text](std::uint8_t kind) { quit(static_cast<ExitKind>(kind), text); },
            [this, text](caf::error&) { quit(ExitKind::planned, text); });
  }

  void quit(ExitKind kind, const std::string& text) {
    if (kind != ExitKind::planned)
      log().info("{}: {}", job_name, text);
    self->quit(make_exit(kind, text));
  }

  caf::event_based_actor* self;
  std::shared_ptr<const NodeServices> services;
  std::shared_ptr<const NodeTemplate> job_template;
  caf::actor pool;
  NodeOrder order;
  JobLink node;
  std::string job_name;
  NodeStartup startup;
  NodeLost lost;    ///< The report of the loss, as far as it is known.
  std::string logs; ///< The last log lines of the job.
  std::shared_ptr<JobHandler> handler;
  StartClock starting;
  wire::Silence probes{{}, {}};
  std::string waits_for; ///< Why the job has not started, in the engine's words.
  ClockOffset clock;
  bool for_process = false, answered = false, start_finished = false, stopping = false,
       draining = false, disrupted = false, ended = false;
};

} // namespace

caf::actor spawn_node_link(caf::event_based_actor* supervisor,
                           std::shared_ptr<const NodeServices> services,
                           std::shared_ptr<const NodeTemplate> job, caf::actor pool,
                           NodeOrder order) {
  return supervisor->spawn(
    [](caf::stateful_actor<NodeLinkState>* self,
       const std::shared_ptr<const NodeServices>& with,
       const std::shared_ptr<const NodeTemplate>& like, const caf::actor& of,
       const NodeOrder& what) { return self->state.make_behavior(with, like, of, what); },
    std::move(services), std::move(job), std::move(pool), std::move(order));
}

} // namespace fiber::actors
