// SPDX-License-Identifier: Apache-2.0
#include "actors/process/process_actor.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <utility>

#include <caf/all.hpp>

#include "actors/core/exit.hpp"
#include "actors/crash/stack_symbols.hpp"
#include "actors/driver/backend_actor.hpp"
#include "backends/output/crash_line.hpp"
#include "base/log.hpp"

namespace fiber::actors {
namespace {

constexpr std::chrono::seconds session_end_grace{2}; ///< SIGTERM to SIGKILL.
constexpr std::chrono::seconds cancel_grace{2};      ///< The same as a pool's.
constexpr std::uint64_t only_call = 1, only_seq = 1;

/// Returns the name with only the characters that every engine allows in names.
std::string plain_name(std::string name) {
  constexpr std::size_t longest = 40;
  name.resize(std::min(name.size(), longest));
  auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  for (auto& c : name)
    c = is_plain(c) || c == '.' || c == '_' ? c : '-';
  return name.empty() || !is_plain(name.front()) ? "process" + name : name;
}

struct ProcessState {
  static constexpr const char* name = "fiber.process";

  explicit ProcessState(caf::event_based_actor* self) : self(self) {}
  /// Even an unplanned end answers every caller and leaves no job behind.
  ~ProcessState() {
    if (node)
      caf::anon_send_exit(node, caf::exit_reason::user_shutdown);
    ProcessEnd how;
    how.problem = std::make_exception_ptr(Closed(settings.name + " was given up"));
    finish(how, how.problem);
  }

  caf::behavior make_behavior(ProcessSettings with) {
    settings = std::move(with);
    self->set_down_handler([this](caf::down_msg& down) {
      if (node && down.source == node.address())
        job_actor_down();
    });
    self->set_exit_handler([this](caf::exit_msg&) {
      session_ending = true;
      end(session_end_grace);
    });
    node = settings.start_node(self, caf::actor_cast<caf::actor>(self),
                               {.name = plain_name(settings.name)});
    self->monitor(node);
    return {
      [this](EndProcess message) { end(message.grace); },
      [this](CancelProcess) { cancel(); },
      [this](const AskProcessLogs& ask) { reply_logs(ask.reply); },
      [this](NodeCreated& created) {
        job = created.job;
        settings.news->job.set(std::move(created.job));
        if (node && early_pid)
          node_up(*early_pid);
      },
      [this](const NodeUp& message) {
        // A job may dial back before its engine has answered. The task waits for the
        // answer, since errors and the trace name the job.
        if (job.empty())
          early_pid = message.pid;
        else
          node_up(message.pid);
      },
      [this](const NodeResults& message) { result(message.results); },
      [this](NodeLost& lost) {
        node_lost(std::move(lost));
        return static_cast<std::uint8_t>(ExitKind::planned);
      },
      [](const NodeHandedBack&) {},
      [](const NodeOverdue&) {},
      [](NodeDraining) {},
      [](NodeShare) {},
    };
  }

  // -- its one task --

  void node_up(int pid) {
    up = true;
    settings.news->pid.set(pid);
    if (settings.trace)
      settings.trace->up(job, pid);
    if (end_signal)
      return; // It is about to end.
    running = true;
    auto& call = *settings.task->call;
    NodeFrame frame;
    OpenCall open{only_call, true, call.callable.open(), {}, call.callable.state()};
    if (frame.append(open, open.state))
      flush(frame);
    RunTasks run;
    run.first_seq = only_seq;
    run.call = only_call;
    run.first_index = settings.task->first;
    run.attempt = static_cast<std::uint32_t>(settings.attempt);
    run.lengths = settings.task->ends;
    frame.append(run, settings.task->arguments);
    flush(frame);
  }

  void flush(NodeFrame& frame) {
    if (!frame.head.empty())
      self->send(node, std::exchange(frame, {}));
  }

  void result(const TaskResults& results) {
    if (!node || !running || std::exchange(answered, true))
      return;
    retire();
    if (results.results.empty() || results.first_seq != only_seq)
      return;
    auto& first = results.results.front();
    auto bytes = results.bytes.slice(first.offset, first.length);
    Reader reader(bytes.bytes());
    auto succeeded = first.status == TaskResult::Status::value;
    if (settings.task->call->sink) {
      if (succeeded)
        deliver_outcome({std::move(bytes), nullptr});
      else
        deliver_outcome(
          {{},
           std::make_exception_ptr(RemoteError(read_failure(reader), settings.task->first,
                                               settings.attempt, job, settings.counts))});
    } else if (!succeeded) {
      returned_code = EXIT_FAILURE;
    } else if (first.length == sizeof(int)) {
      returned_code = unpack<int>(reader) & 0xff;
    }
  }

  /// Lets the job exit. It stays until its result is here, because the end of its
  /// connection could lose messages.
  void retire() {
    NodeFrame frame;
    Writer writer(frame.head);
    write(writer, Op::retire);
    flush(frame);
  }

  /// Delivers the outcome of the task, unless one was delivered before.
  void deliver_outcome(detail::RawOutcome outcome) {
    auto& sink = settings.task->call->sink;
    if (!sink || std::exchange(delivered, true))
      return;
    std::vector<Completion> completions;
    completions.push_back({0, std::move(outcome)});
    sink->deliver(std::move(completions));
  }

  void cancel() {
    if (answered || !node)
      return;
    deliver_outcome(
      {{}, std::make_exception_ptr(Cancelled("cancelled before it ended"))});
    if (!running)
      return end({});
    stop_task();
    if (!settings.nested) // A task on a thread of this process can't be killed.
      self->delayed_send(self, cancel_grace, EndProcess{});
  }

  void stop_task() {
    NodeFrame frame;
    Writer writer(frame.head);
    write(writer, StopTask{0, only_seq});
    flush(frame);
  }

  // -- its output --

  void reply_logs(const std::shared_ptr<Reply<std::string>>& reply) {
    self->request(settings.backend, caf::infinite, AskOutput{job})
      .then(
        [reply](const JobOutput& output) {
          reply->set(backends::without_crash_lines(output.text));
        },
        [reply](caf::error&) { reply->set({}); });
  }

  // -- its end --

  void end(std::chrono::milliseconds grace) {
    if (!node)
      return; // It has ended.
    if (settings.nested && running && !session_ending)
      return stop_task();
    end_signal = grace > std::chrono::milliseconds(0) ? SIGTERM : SIGKILL;
    self->send(node, EndNode{grace});
  }

  void node_lost(NodeLost lost) {
    node = nullptr;
    auto exit_known = lost.confirmed && !lost.declared_dead;
    if (exit_known || job.empty() || !lost.output.empty()) {
      conclude(lost);
      return;
    }
    // No later event will bring the job's output, so asks for it now.
    auto known = std::make_shared<NodeLost>(std::move(lost));
    self->request(settings.backend, caf::infinite, AskOutput{job})
      .then(
        [this, known](const JobOutput& output) {
          known->output = backends::without_crash_lines(output.text);
          conclude(*known);
        },
        [this, known](caf::error&) { conclude(*known); });
  }

  void conclude(NodeLost& lost) {
    ProcessEnd end{exit_code(lost), never_ran(lost) ? start_error(lost) : nullptr,
                   std::move(lost.output)};
    auto crashed = end.exit_code.value_or(0) < 0 || lost.declared_dead || lost.lease;
    if (end.problem)
      log().warn("{} could not be started: {}", settings.name, lost.reason);
    else if (crashed && !end_signal)
      log().warn("{} is lost: {}", settings.name, lost.reason);
    auto error = end.problem ? end.problem : lost_error(lost);
    if (settings.trace)
      settings.trace->ended(end.exit_code, lost.reason);
    finish(std::move(end), error);
    self->quit();
  }

  /// Returns whether the job was never up. A job that a signal ended before counts as
  /// run, to report the signal, unless the driver had given it up and killed it.
  bool never_ran(const NodeLost& lost) const {
    auto given_up = lost.cause != LossCause::ended;
    return !up && !end_signal && (given_up || lost.exit_code.value_or(0) >= 0);
  }

  std::optional<int> exit_code(const NodeLost& lost) const {
    auto known = lost.exit_code;
    constexpr int signals = 128; // Some engines report signal N as the code 128 + N.
    if (returned_code && *returned_code > signals && known == signals - *returned_code)
      known = returned_code;
    if (!known && !returned_code && end_signal)
      return -*end_signal;
    return known ? known : returned_code;
  }

  std::exception_ptr start_error(const NodeLost& lost) const {
    auto text = settings.name + ": " + lost.reason;
    if (lost.cause == LossCause::other_build)
      return std::make_exception_ptr(VersionMismatch(text));
    if (lost.cause == LossCause::late || lost.cause == LossCause::queued)
      return std::make_exception_ptr(TimeoutError(text));
    return std::make_exception_ptr(BackendError("start process", lost.status, text));
  }

  std::exception_ptr lost_error(NodeLost& lost) const {
    if (session_ending)
      return std::make_exception_ptr(Cancelled("the session has ended"));
    LastWords last{.log = std::move(lost.last.lines)};
    if (lost.last.crash)
      last.stack = std::make_shared<CrashStack>(lost.last.crash->frames);
    return std::make_exception_ptr(
      WorkerLost(0, 1, {lost.exit_code}, lost.reason, std::move(last)));
  }

  /// The actor of the job has ended without a report.
  void job_actor_down() {
    node = nullptr;
    finish({}, std::make_exception_ptr(WorkerLost(0, 1, {std::nullopt}, "unknown")));
    self->quit();
  }

  /// Reports the end to every caller, once.
  void finish(ProcessEnd how, const std::exception_ptr& no_result) {
    if (!settings.task || std::exchange(ended, true))
      return;
    deliver_outcome({{}, no_result});
    settings.task = nullptr;
    settings.news->job.set({});
    settings.news->pid.set(0);
    if (settings.ended)
      settings.ended();
    settings.news->end.set(std::make_shared<const ProcessEnd>(std::move(how)));
  }

  caf::event_based_actor* self;
  ProcessSettings settings;
  caf::actor node;
  std::string job; ///< The engine's name of the job; empty before there is one.
  std::optional<int>
    early_pid; ///< The pid of a job that was up before its engine had answered.
  std::optional<int> end_signal;    ///< The signal by which it was asked to end.
  std::optional<int> returned_code; ///< The exit code that its function returned.
  bool up = false, running = false, answered = false, delivered = false,
       session_ending = false, ///< The session ends.
    ended = false;
};

} // namespace

caf::actor spawn_process(caf::actor_system& system, ProcessSettings settings) {
  return system.spawn(
    [](caf::stateful_actor<ProcessState>* self, const ProcessSettings& with) {
      return self->state.make_behavior(with);
    },
    std::move(settings));
}

} // namespace fiber::actors
