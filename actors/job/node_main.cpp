// SPDX-License-Identifier: Apache-2.0
#include "actors/job/node_main.hpp"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>
#include <iostream>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include <caf/all.hpp>

#include "actors/caf/actor_port.hpp"
#include "actors/core/chaos.hpp"
#include "actors/crash/crash_handler.hpp"
#include "actors/job/anchor.hpp"
#include "actors/job/job_node.hpp"
#include "actors/job/peer_links.hpp"
#include "actors/job/process_exit.hpp"
#include "actors/objects/this_job.hpp"
#include "actors/protocol/job_log.hpp"
#include "actors/protocol/node_boot.hpp"
#include "actors/share/share_cache.hpp"
#include "backends/driver_variables.hpp"
#include "backends/job_address.hpp"
#include "base/code_place.hpp"
#include "base/failure.hpp"
#include "base/forked_child.hpp"
#include "base/freed_memory.hpp"
#include "base/harmless_signal.hpp"
#include "base/log.hpp"
#include "fiber/detail/caf/scheduler.hpp"
#include "wire/error.hpp"
#include "wire/leadership.hpp"
#include "wire/listener.hpp"
#include "wire/reactor.hpp"
#include "wire/stream_link.hpp"

namespace fiber::actors {
namespace {

/// Time to send results before the job exits.
constexpr std::chrono::seconds final_flush_limit{2};
/// Time to flush open streams before the job exits.
constexpr std::chrono::milliseconds stream_flush_limit{500};
constexpr std::chrono::seconds dial_limit{30};
constexpr std::size_t max_freed_memory = 64 << 20;
constexpr int exit_lease = 72;

enum class Children { stay, end };

/// Ends the process without destroying static objects, since slots may still run.
[[noreturn]] void end_process(int code, Children children) {
  if (children == Children::end && getpgrp() == getpid())
    kill(0, SIGKILL);
  std::_Exit(code);
}

/// Ends the process after `limit` whatever the caller does: a pipe that nobody reads, or
/// a stream that another thread has locked, would block it for ever.
void end_process_within(std::chrono::milliseconds limit, int code, Children children) {
  std::thread([=] {
    std::this_thread::sleep_for(limit);
    end_process(code, children);
  }).detach();
}

[[noreturn]] void exit_job(int code) {
  end_process_within(stream_flush_limit, code, Children::stay);
  try {
    std::cout.flush();                 // The program may have unsynced it from stdio.
  } catch (const std::ios::failure&) { // The program may have enabled exceptions.
  }
  std::fflush(nullptr);
  end_process(code, Children::stay);
}

/// Makes exit() in a task end the job without destroying static objects, since other
/// threads use them.
void install_exit_hook() {
#ifdef __GLIBC__
  on_exit([](int code, void*) { exit_job(code); }, nullptr);
#endif
}

/// Ends this job together with the processes that its tasks have started: the driver,
/// which would end them, is gone.
[[noreturn]] void exit_with_children(int code) {
  std::fflush(nullptr);
  end_process(code, Children::end);
}

/// Ends the job when its driver is gone.
class DrivenNode final : public JobNode {
public:
  DrivenNode(const NodeParts& parts, std::shared_ptr<JobLog> log)
    : JobNode(parts), link_(parts.link), log_(std::move(log)) {}

  // The reader of stderr may be gone as well, and the children are still to be ended.
  void on_silence() override {
    make_harmless(SIGPIPE);
    end_process_within(final_flush_limit, exit_lease, Children::end);
    log_->link_over();
    log().warn("nothing heard from the driver for the whole lease; this job ends");
    Bytes head;
    Writer writer(head);
    write(writer, Op::lease_over);
    link_->send(task_stream, std::move(head));
    exit_with_children(exit_lease);
  }
  void on_closed(const wire::LinkEnd& end) override {
    make_harmless(SIGPIPE);
    end_process_within(stream_flush_limit, exit_orphan, Children::end);
    log().debug("the driver is gone: {}", end.reason);
    report_lost_driver(end.reason);
    exit_with_children(exit_orphan);
  }

private:
  std::shared_ptr<wire::Link> link_;
  std::shared_ptr<JobLog> log_;
};

struct SystemConfig : caf::actor_system_config {
  SystemConfig() {
    detail::set_scheduler(*this, "sharing");
    detail::set_scheduler_threads(*this, 1);
  }
};

[[noreturn]] void refuse(const std::exception& error, int code) {
  log().error("this job can't join its session: {}", error.what());
  exit_job(code);
}

/// Ends a job whose start lacks threads or memory, by an exit code and without a word: a
/// machine that has room for no more jobs has none for many of them, and the driver says
/// so once. Call it while an exception is handled; returns if that is another one.
void end_if_short() {
  try {
    throw;
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again ||
        error.code() == std::errc::not_enough_memory)
      end_process(exit_shortage, Children::stay);
  } catch (const std::bad_alloc&) {
    end_process(exit_shortage, Children::stay);
  } catch (...) {
  }
}

/// While it exists, the end of this process by an exception is a failed start. Some
/// exceptions get no further than to the threads that were started before.
class Start {
public:
  Start() {
    usual = std::set_terminate([] {
      if (std::current_exception())
        end_if_short();
      usual();
    });
  }
  ~Start() { std::set_terminate(usual); }
  Start(const Start&) = delete;
  Start& operator=(const Start&) = delete;

private:
  static inline std::terminate_handler usual = nullptr;
};

/// On a thread on which nothing catches: if one of CAF's threads can't be started, the
/// process ends where that happens. If the exception left the constructor, CAF would
/// destroy what the threads that it has started are using.
caf::actor_system& make_system() {
  caf::actor_system* system = nullptr;
  std::thread([&] {
    // Never destroyed, since the process ends while they are in use.
    auto& config = *new SystemConfig;       // NOLINT(cppcoreguidelines-owning-memory)
    system = new caf::actor_system(config); // NOLINT(cppcoreguidelines-owning-memory)
  }).join();
  return *system;
}

/// Throws std::system_error if this process can't start so many threads now.
void check_threads(int n) {
  std::atomic<bool> over = false;
  std::vector<std::jthread> threads;
  std::exception_ptr problem;
  try {
    for (; n > 0; --n)
      threads.emplace_back([&over] { over.wait(false); });
  } catch (const std::system_error&) {
    problem = std::current_exception();
  }
  over = true;
  over.notify_all();
  threads.clear();
  if (problem)
    std::rethrow_exception(problem);
}

/// Returns the system of the actors of the queues and locks that this job makes. Throws
/// std::system_error to the task that makes the first one if there is no room for it.
caf::actor_system& actor_system() {
  static auto& made = [&]() -> caf::actor_system& {
    check_threads(4); // CAF's three, and the one below that starts them.
    return make_system();
  }();
  return made;
}

std::shared_ptr<wire::Link> open_link(wire::Reactor& reactor, backends::JobEntry& entry,
                                      const NodeBoot& boot,
                                      const std::optional<wire::Identity>& identity) {
  wire::LinkOptions options;
  options.heartbeat_interval = boot.heartbeat_interval;
  options.silence_limit = boot.lease;
  if (!identity)
    return wire::adopt(reactor, std::move(entry.link), options);
  return wire::dial(reactor, boot.host, boot.port, *identity,
                    {boot.session, build_id(), boot.incarnation}, 0, dial_limit, options);
}

/// Returns the links to other jobs. A silent peer loses only its link; it is not lost.
std::shared_ptr<PeerLinks> peer_links(wire::Reactor& reactor,
                                      const std::shared_ptr<ObjectSpace>& objects,
                                      const std::shared_ptr<wire::Link>& driver,
                                      const std::optional<wire::Identity>& identity,
                                      const NodeBoot& boot) {
  PeerLinks::Parts parts{.reactor = &reactor, .objects = objects, .driver = driver};
  parts.link.heartbeat_interval = boot.heartbeat_interval;
  parts.link.silence_limit = 4 * boot.heartbeat_interval;
  if (identity) {
    parts.identity = identity;
    parts.hello = {boot.session, build_id(), boot.incarnation};
    parts.own_address = [] { return ThisJob::get()->own_address(); };
  }
  return std::make_shared<PeerLinks>(std::move(parts));
}

/// Returns a hook that kills or stalls this process at the start of tasks, as FIBER_CHAOS
/// asks; empty if it asks for nothing. It spares the last allowed run of a task.
std::function<void(std::uint64_t, const TaskContext&)>
fault_injector(const NodeBoot& boot, const std::shared_ptr<wire::Link>& link) {
  auto chaos = Chaos::parse(boot.chaos).value_or(Chaos{});
  if (!chaos.on())
    return nullptr;
  return [chaos, link, most = boot.max_retries, beat = 4 * boot.heartbeat_interval](
           std::uint64_t call, const TaskContext& task) {
    auto [fate, length] = chaos.draw(call, task.index, task.attempt);
    if (fate == Chaos::Fate::none || (most >= 0 && task.attempt > most))
      return;
    Bytes frame;
    Writer writer(frame);
    writer.put(Op::chaos);
    writer.put(ChaosNote{fate, task.rank});
    link->send(task_stream, std::move(frame));
    link->flush(final_flush_limit);
    if (fate == Chaos::Fate::kill)
      kill_this_process();
    stall_this_process(
      std::chrono::duration_cast<std::chrono::nanoseconds>(beat * length));
  };
}

/// Runs the initializer, if there is one, and then the tasks of a slot.
void run_slot(JobNode& node, SlotWorker& slot,
              const std::shared_future<CallCode>& initializer) {
  CrashHandlerStack for_crashes;
  if (initializer.valid()) {
    try {
      slot.initialize(initializer.get());
    } catch (...) {
      end_if_forked_child("an initializer");
      node.slot_failed(capture_failure()); // Ends the job.
      slot.run();
    }
  }
  node.slot_ready();
  slot.run();
}

/// The parts of a running node. They live in run_node(), which never returns.
struct NodeRun {
  const backends::JobEntry& entry;
  const NodeBoot& boot;
  wire::Reactor& reactor;
  std::optional<wire::Identity> identity; ///< None: the link is inherited.
  std::shared_ptr<wire::Link> link;
  std::shared_ptr<ObjectSpace> objects;
  int exit_code = EXIT_SUCCESS;
  std::vector<std::shared_ptr<SlotWorker>> slots = {};
  std::promise<CallCode> arrived_initializer = {};
  std::shared_future<CallCode> initializer = {}; ///< Not valid if there is none.
  std::shared_ptr<PeerLinks> peers = {};
};

std::shared_ptr<ObjectSpace> open_objects(const backends::JobEntry& entry,
                                          const NodeBoot& boot,
                                          const std::shared_ptr<wire::Link>& link) {
  auto objects =
    std::make_shared<ObjectSpace>(nullptr, boot.incarnation, [](std::uint64_t id) {
      return ShareCache::instance().hold(id);
    });
  objects->connect(0, link);
  if (entry.page)
    objects->set_ledger(boot.incarnation, std::make_shared<JobLedger>(entry.page));
  return objects;
}

void make_slots(NodeRun& run) {
  for (std::uint32_t i = 0; i < run.boot.slots; ++i) {
    auto& slot = run.slots.emplace_back();
    SlotWorker::Settings settings{
      i,
      run.boot.first_rank + i,
      run.link,
      run.entry.page,
      [&run, i](std::chrono::milliseconds after) {
        run.reactor.after(after, [&run, i] { run.slots[i]->flush_results(); });
      },
      run.reactor.leadership(),
      run.boot.task_timeout,
      fault_injector(run.boot, run.link),
      run.boot.trace};
    settings.objects = run.objects;
    if (run.boot.use != NodeUse::pool) // The job exits when the driver has the result.
      settings.after_task = [&run](TaskResult::Status status, const Bytes& result) {
        run.exit_code = process_exit_code(run.boot, status, result);
      };
    slot = std::make_shared<SlotWorker>(std::move(settings));
  }
}

/// Makes the node and starts the link that feeds it.
std::shared_ptr<JobNode> start_node(NodeRun& run,
                                    const std::shared_ptr<JobLog>& job_log) {
  auto abort = [link = run.link](int code) {
    link->flush(final_flush_limit);
    exit_job(code);
  };
  if (run.boot.initializer)
    run.initializer = run.arrived_initializer.get_future().share();
  run.peers = peer_links(run.reactor, run.objects, run.link, run.identity, run.boot);
  auto initialize = [&run](CallCode code) {
    run.arrived_initializer.set_value(std::move(code));
  };
  auto after = [&reactor = run.reactor](auto delay, auto f) {
    reactor.after(delay, std::move(f));
  };
  auto node = std::make_shared<DrivenNode>(
    NodeParts{run.boot.incarnation, run.link, run.slots, initialize, abort, after,
              run.boot.task_timeout, run.objects, run.peers},
    job_log);
  run.peers->tell(node);
  auto summon = [&reactor = run.reactor] { reactor.leadership()->summon(); };
  run.objects->peers().before_waiting(summon);
  ShareCache::instance().connect(run.link, summon);
  if (run.boot.use == NodeUse::pool) // SIGTERM ends a process, unless it handles that.
    run.reactor.on_signal(SIGTERM, [node] { node->drain(); });
  run.link->start(node);
  return node;
}

/// Runs all slots, the first one on this thread, until they have finished.
void run_slots(NodeRun& run, JobNode& node) {
  std::vector<std::thread> threads;
  for (std::uint32_t i = 1; i < run.boot.slots; ++i)
    threads.emplace_back([&, i] { run_slot(node, *run.slots[i], run.initializer); });
  run_slot(node, *run.slots[0], run.initializer);
  for (auto& thread : threads)
    thread.join();
}

/// Returns the value of a variable, or "", and removes it: it is not for programs that
/// tasks start.
std::string take_variable(const char* name) {
  const char* value = std::getenv(name);
  std::string taken = value ? value : "";
  ::unsetenv(name);
  return taken;
}

/// Whoever has set them for this job: an image, a pod template, `environment`.
void unset_driver_variables() {
  std::vector<std::string> names;
  for (char** entry = ::environ; entry && *entry; ++entry)
    if (std::string name = *entry; backends::sets_driver_only(name))
      names.push_back(name.substr(0, name.find('=')));
  for (auto& name : names)
    ::unsetenv(name.c_str());
}

} // namespace

void run_node(backends::JobEntry entry, const std::function<void()>& at_end) {
  keep_freed_memory(max_freed_memory);
  std::shared_ptr<JobLog> job_log;
  try {
    auto boot = NodeBoot::unpack(entry.boot);
    if (!entry.driver.empty())
      boot.set_address(entry.driver);
    log().set_level(spdlog::level::from_str(boot.log_level));
    unset_driver_variables();
    const auto address = take_variable(backends::job_address);
    if (boot.slots == 0)
      run_anchor(std::move(entry.keys), boot);
    note_forks();
    report_crashes();
    install_exit_hook();
    std::optional<Start> start(std::in_place);
    // Never destroyed, since the process ends while they are in use.
    auto& reactor = *new wire::Reactor; // NOLINT(cppcoreguidelines-owning-memory)
    std::optional<wire::Identity> identity;
    if (!boot.host.empty())
      identity = wire::Identity::unpack(std::move(entry.keys));
    auto link = open_link(reactor, entry, boot, identity);
    auto objects = open_objects(entry, boot, link);
    ThisJob::set(
      {actor_system, objects, reactor.leadership(), boot.session_tag, boot.host, address,
       ActorPort::open(objects, boot.session_tag, std::make_shared<ProgramActors>())});
    job_log = std::make_shared<JobLog>(link, log_sinks());
    redirect_log(job_log);
    NodeRun run{entry, boot, reactor, identity, link, objects};
    make_slots(run);
    auto node = start_node(run, job_log);
    start.reset();
    run_slots(run, *node);
    at_end();
    objects->peers().settle(final_flush_limit); // Links to peers may hold unsent bytes.
    link->flush(final_flush_limit);
    exit_job(run.exit_code);
  } catch (const wire::Unreachable& error) {
    refuse(error, exit_unreachable);
  } catch (const wire::OtherBuild& error) {
    refuse(error, exit_other_build);
  } catch (const std::exception& error) {
    if (job_log)
      job_log->link_over();
    else
      end_if_short();
    refuse(error, EXIT_FAILURE);
  }
}

} // namespace fiber::actors
