// SPDX-License-Identifier: Apache-2.0
#include "actors/node_link_actor.hpp"

#include <algorithm>
#include <utility>

#include <caf/all.hpp>

#include "actors/backend_actor.hpp"
#include "actors/clock_offset.hpp"
#include "actors/exit.hpp"
#include "actors/job_log.hpp"
#include "actors/node_table.hpp"
#include "actors/pool_trace.hpp"
#include "actors/warden.hpp"
#include "backends/crash_line.hpp"
#include "wire/log.hpp"
#include "wire/silence.hpp"
#include "wire/stream_link.hpp"

namespace fiber::actors {
namespace {

constexpr std::chrono::seconds job_lingers{2}, job_lost{10};
constexpr std::chrono::seconds polite{2}; ///< SIGTERM to SIGKILL.

struct StartTick {}; ///< Time to see whether the job takes too long to start.
struct ProbeTick {}; ///< Time to ask whether the node's actors answer.
struct LingerTick {  ///< One of link and job is gone and the other has had its time.
  int stage = 0;
};

} // namespace
} // namespace fiber::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::StartTick)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::ProbeTick)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::LingerTick)

namespace fiber::actors {
namespace {

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
    starting = {start_interval(), services->start_deadline};
    probes = {probe_interval(), services->lease};
    at.name = order.name;
    at.incarnation = services->next_incarnation();
    self->set_exit_handler([this](caf::exit_msg& message) { stop(message.reason); });
    create();
    return {
      [this](LinkArrived& arrived) { use_link(std::move(arrived.link)); },
      [this](FromLink& from) { receive(from); },
      [this](NodeFrame& frame) {
        if (at.link)
          at.link->send(task_stream, std::move(frame.head), std::move(frame.body));
      },
      [this](KillNode) { end_job(std::chrono::milliseconds(0)); },
      [this](EndNode end) { end_node(end.grace); },
      [this](JobOutput& output) { this->output = std::move(output.text); },
      [this](const backends::JobEvent& event) { job_event(event); },
      [this](LinkSilent) {
        if (up) // Before that a program may do in main what it likes, up to the deadline.
          declare_dead("silent for " + seconds(services->heartbeat_timeout));
      },
      [this](const LinkClosed& closed) {
        at.link_gone = true;
        if (!at.job_gone)
          self->delayed_send(self, job_lingers, LingerTick{0});
        log().debug("{}: link closed: {}", at.name, closed.reason);
        end_if_gone();
      },
      [this](StartTick) { check_start(); },
      [this](ProbeTick) { probe(); },
      [this](LingerTick tick) { linger(tick.stage); },
    };
  }

  static std::string seconds(std::chrono::milliseconds d) {
    return std::to_string(static_cast<double>(d.count()) / 1000).substr(0, 5) + " s";
  }

  // -- start --

  void create() {
    NodeBoot boot;
    boot.incarnation = at.incarnation;
    boot.name = at.name;
    boot.first_rank = order.first_rank;
    boot.slots = order.slots;
    boot.heartbeat_interval = services->heartbeat_timeout / 4;
    boot.lease = services->lease;
    boot.log_level = services->log_level;
    boot.chaos = services->chaos;
    boot.max_retries = job_template->max_retries;
    boot.task_timeout = job_template->task_timeout;
    boot.trace = job_template->trace != nullptr;
    boot.use = job_template->use;
    boot.initializer = job_template->initializer.open != nullptr;
    auto spec = std::make_shared<backends::JobSpec>();
    if (services->address)
      spec->keys = services->address(boot);
    dialled = boot.host + ":" + std::to_string(boot.port);
    spec->name = at.name + "-" + std::to_string(at.incarnation);
    spec->link = boot.host.empty();
    spec->page_bytes = order.slots * SlotProgress::stride;
    spec->resources = job_template->resources;
    spec->image = job_template->image;
    spec->boot = boot.pack();
    job_name = spec->name;
    auto me = caf::actor_cast<caf::actor>(self);
    services->arrivals->expect(at.incarnation, me);
    self
      ->request(services->backend, caf::infinite,
                CreateJob{std::move(spec), me, for_process})
      .then([this](JobCreated& created) { job_created(created); },
            [this](caf::error&) { never_created("the job backend has ended"); });
  }

  void never_created(std::string why) {
    problem = std::move(why);
    at.job_gone = true;
    end_if_gone();
  }

  void job_created(JobCreated& created) {
    if (!created.job) {
      cause = LossCause::refused;
      status = created.status;
      never_created(created.problem);
      return;
    }
    at.job = std::move(created.job);
    if (for_process)
      self->send(pool, NodeCreated{at.incarnation, at.job->id});
    check_start();
    if (at.job->link)
      use_link(wire::adopt(*services->reactor, std::move(at.job->link), link_options()));
    if (stopping)
      end_job(std::chrono::milliseconds(0));
  }

  void check_start() {
    if (up || !problem.empty())
      return;
    if (starting.tick(self->clock().now(), false)) {
      problem =
        "not ready after " + seconds(services->start_deadline) + " (start_deadline)";
      cause = LossCause::late;
      end_job(std::chrono::milliseconds(0));
      return;
    }
    self->delayed_send(self, start_interval(), StartTick{});
  }

  // While this process stands still, nobody is late: so time is counted in ticks.
  std::chrono::milliseconds start_interval() const {
    return std::max(services->start_deadline / 8, std::chrono::milliseconds(1));
  }
  std::chrono::milliseconds probe_interval() const {
    return std::max(services->lease / 4, std::chrono::milliseconds(1));
  }

  wire::LinkOptions link_options() const {
    wire::LinkOptions options;
    options.heartbeat_interval = services->heartbeat_timeout / 4;
    options.silence_limit = services->heartbeat_timeout;
    return options;
  }

  void use_link(std::shared_ptr<wire::Link> link) {
    at.link = std::move(link);
    at.handler =
      std::make_shared<LinkToActor>(self->system(), caf::actor_cast<caf::actor>(self));
    at.link->start(at.handler);
    if (auto& code = job_template->initializer; code.open != nullptr) {
      Bytes head;
      Writer writer(head);
      write(writer, OpenCall{initializer_call, false, code.open, {}, code.state});
      self->send(pool, NodeShare{head.size() + code.state.size()});
      at.link->send(task_stream, std::move(head), code.state);
    }
  }

  void node_ready(const Ready& ready) {
    if (ready.incarnation != at.incarnation || ready.build != services->build) {
      problem = "the job runs build " + ready.build + ", this program is build " +
                services->build;
      cause = LossCause::other_build;
      end_job(std::chrono::milliseconds(0));
      return;
    }
    if (ready.slots != order.slots || up)
      throw Error("it is ready with " + std::to_string(ready.slots) + " slots");
    up = true;
    settled();
    probe();
    self->send(pool, NodeUp{at.incarnation, order.name, job_name, ready.slots,
                            caf::actor_cast<caf::actor>(self),
                            at.job ? at.job->page : nullptr, ready.pid});
  }

  void settled() {
    if (!std::exchange(is_settled, true))
      self->send(services->backend, JobSettled{job_name});
  }

  // -- what the link says --

  void receive(const FromLink& from) {
    try {
      Reader reader(from.message.bytes());
      while (!reader.empty())
        heard(read_op(reader), reader, from.message);
    } catch (const std::exception& error) {
      declare_dead(std::string("sent what can't be read: ") + error.what());
    }
  }

  void heard(Op op, Reader& reader, const Payload& whole) {
    switch (op) {
    case Op::ready:
      return node_ready(read_ready(reader));
    case Op::results:
      return use_results(read_results(reader, whole));
    case Op::timed_results:
      return use_results(read_results(reader, whole, true));
    case Op::handed_back:
      return self->send(pool, NodeHandedBack{at.incarnation, read_handed_back(reader)});
    case Op::overdue:
      return self->send(pool, NodeOverdue{at.incarnation, read_overdue(reader)});
    case Op::draining:
      draining = true;
      self->send(pool, NodeDraining{at.incarnation});
      return retire_if_stopping();
    case Op::init_failed: {
      auto failure = read_failure(reader);
      problem = "the initializer threw " + failure.type + ": " + failure.what;
      return;
    }
    case Op::probed:
      answered = true;
      clock.answered(std::chrono::nanoseconds(read_clock(reader)),
                     std::chrono::steady_clock::now());
      return;
    case Op::fetch:
      return self->send(
        pool, NodeShare{services->shares->fetch(reader.get<std::uint64_t>(), *at.link)});
    case Op::retain:
      return services->shares->retain(reader.get<std::uint64_t>(), at.incarnation,
                                      at.link);
    case Op::release:
      return services->shares->release(reader.get<std::uint64_t>(), at.incarnation);
    case Op::chaos:
      return note_chaos(reader.get<ChaosNote>());
    case Op::lease_over:
      lease_over = true;
      return;
    case Op::log:
      return logged(read_log(reader));
    default:
      throw Error("operation " + std::to_string(static_cast<int>(op)) +
                  " is not for a driver");
    }
  }

  void logged(const LogRecord& record) {
    log_for_job(job_name, record);
    logs += record.text + "\n";
    if (logs.size() > 2 * most_last_bytes)
      logs = last_lines(logs, most_last_lines, most_last_bytes) + "\n";
  }

  void use_results(TaskResults results) {
    for (auto& time : results.times)
      time.began_ns -= clock.value().count();
    self->send(pool,
               NodeResults{at.incarnation, services->shares->keep(std::move(results))});
  }

  void note_chaos(const ChaosNote& note) {
    auto& counts = *services->chaos_counts;
    ++(note.fate == Chaos::Fate::kill ? counts.kills : counts.stalls);
    if (job_template->trace)
      job_template->trace->chaos(note.worker, note.fate);
  }

  /// The link lives as long as the process; this asks for the actors behind it.
  void probe() {
    if (probes.tick(self->clock().now(), std::exchange(answered, false))) {
      declare_dead("its actors did not answer for " + seconds(services->lease));
      return;
    }
    Bytes head;
    Writer writer(head);
    write(writer, Op::probe);
    clock.asked(std::chrono::steady_clock::now());
    at.link->send(task_stream, std::move(head));
    self->delayed_send(self, probe_interval(), ProbeTick{});
  }

  // -- end --

  void job_event(const backends::JobEvent& event) {
    if (event.kind == backends::JobEvent::Kind::started) {
      runs = true;
      return;
    }
    at.job_gone = true;
    confirmed = event.confirmed;
    disrupted = event.disrupted;
    exit_code = event.exit_code;
    if (event.kind == backends::JobEvent::Kind::failed && cause == LossCause::ended) {
      cause = LossCause::refused;
      status = event.status;
    }
    last = read_last_output(output);
    output = for_process ? backends::without_crash_lines(output) : "";
    drop_other_crash(last, exit_code);
    if (!up)
      explain_exit();
    if (problem.empty())
      problem = event.detail + (last.crash ? in_brackets(last.crash->detail()) : "");
    else if (event.kind == backends::JobEvent::Kind::failed && !event.detail.empty())
      problem += ": " + event.detail; // What it waited for.
    if (at.link && !at.link_gone)
      self->delayed_send(self, link_lingers, LingerTick{0});
    end_if_gone();
  }

  static std::string in_brackets(const std::string& text) {
    return text.empty() ? "" : " (" + text + ")";
  }

  /// A job that could not become a node says why by its exit code.
  void explain_exit() {
    if (exit_code == exit_other_build) {
      cause = LossCause::other_build;
      problem = "the job runs another build than this program, which is build " +
                services->build + "; make its image anew from this program";
    } else if (exit_code == exit_unreachable) {
      cause = LossCause::unreachable;
      problem = "jobs cannot reach " + dialled +
                "; set advertise_address, or run the driver where the jobs are";
    } else if (cause == LossCause::late && runs && !at.link) {
      problem += ": it runs, but has not reached fiber::init; does the image run this "
                 "program?";
    } else if (exit_code == 0 && !at.link) {
      problem = "it ended with exit code 0 before it reached fiber::init; does the image "
                "run this program?";
    }
  }

  void linger(int stage) {
    if (at.job_gone && at.link && !at.link_gone) {
      at.link->close(); // Something that the job started holds the other end.
    } else if (at.link_gone && !at.job_gone) {
      end_job(std::chrono::milliseconds(0));
      if (stage == 0) {
        self->delayed_send(self, job_lost, LingerTick{1});
        return;
      }
      at.job_gone = true;
      problem = "exit unknown (no word from the engine)";
      end_if_gone();
    }
  }

  void end_job(std::chrono::milliseconds grace) {
    if (at.job && !at.job_gone)
      self->send(services->backend, EndJob{at.job->id, grace});
  }

  void stop(const caf::error& reason) {
    auto at_once = reason == caf::exit_reason::kill || stopping || !up;
    end_node(at_once ? std::chrono::milliseconds(0) : polite);
    if (!at_once)
      retire_if_stopping();
  }

  /// A job that is under way is ended as soon as it is there.
  void end_node(std::chrono::milliseconds grace) {
    stopping = true;
    if (!at.job && !at.job_gone)
      self->send(services->backend, CancelJob{job_name});
    end_job(grace);
  }

  /// Otherwise the pool says so, when nothing is under way.
  void retire_if_stopping() {
    if (!draining || !stopping || !at.link)
      return;
    Bytes head;
    Writer writer(head);
    write(writer, Op::retire);
    at.link->send(task_stream, std::move(head));
  }

  void declare_dead(const std::string& why) {
    if (std::exchange(ended, true))
      return;
    problem = why;
    declared_dead = true;
    auto warden = spawn_warden(self, at, services->shares, pool);
    if (at.job)
      self->send(services->backend, WatchJob{at.job->id, warden});
    end_job(std::chrono::milliseconds(0));
    if (at.handler)
      at.handler->to(warden);
    report();
  }

  void end_if_gone() {
    if (!at.job_gone || (at.link && !at.link_gone) || std::exchange(ended, true))
      return;
    services->shares->job_gone(at.incarnation);
    report();
  }

  /// Tells the pool, which knows whom to blame, and ends as it says.
  void report() {
    services->arrivals->forget(at.incarnation);
    settled();
    auto text = job_name + ": " + (problem.empty() ? "ended" : problem);
    last.lines = last_lines(logs + last.lines, most_last_lines, most_last_bytes);
    self
      ->request(pool, caf::infinite,
                NodeLost{.incarnation = at.incarnation,
                         .name = order.name,
                         .exit_code = exit_code,
                         .lease = lease_over,
                         .declared_dead = declared_dead,
                         .planned = draining || disrupted,
                         .confirmed = confirmed,
                         .reason = problem,
                         .cause = cause,
                         .status = status,
                         .last = std::move(last),
                         .output = std::move(output)})
      .then([this, text](std::uint8_t kind) { quit(static_cast<ExitKind>(kind), text); },
            [this, text](caf::error&) { quit(ExitKind::planned, text); });
  }

  void quit(ExitKind kind, const std::string& text) {
    if (kind != ExitKind::planned)
      log().info("{}", text);
    self->quit(make_exit(kind, text));
  }

  caf::event_based_actor* self;
  std::shared_ptr<const NodeServices> services;
  std::shared_ptr<const NodeTemplate> job_template;
  caf::actor pool;
  NodeOrder order;
  JobLink at;
  std::string job_name;
  std::string dialled; ///< Where the job dials.
  std::string problem;
  std::string output; ///< The end of it, when the job has ended.
  std::string logs;   ///< The last that it logged.
  LastOutput last;
  LossCause cause = LossCause::ended;
  int status = 0; ///< Of a refusal.
  std::optional<int> exit_code;
  wire::Silence starting{{}, {}}, probes{{}, {}};
  ClockOffset clock;
  bool for_process = false, runs = false, up = false, answered = false,
       is_settled = false, stopping = false, draining = false, lease_over = false,
       confirmed = false, disrupted = false, declared_dead = false, ended = false;
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
