// SPDX-License-Identifier: Apache-2.0
#include "actors/job/node_main.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <iostream>
#include <thread>
#include <utility>
#include <vector>

#include <malloc.h>
#include <unistd.h>

#include <caf/all.hpp>

#include "actors/caf/actor_port.hpp"
#include "actors/core/borrowed_thread.hpp"
#include "actors/core/chaos.hpp"
#include "actors/crash/crash_handler.hpp"
#include "actors/job/anchor.hpp"
#include "actors/job/node_actor.hpp"
#include "actors/job/peer_links.hpp"
#include "actors/job/process_exit.hpp"
#include "actors/objects/this_job.hpp"
#include "actors/protocol/job_log.hpp"
#include "actors/protocol/node_boot.hpp"
#include "actors/share/share_cache.hpp"
#include "base/code_place.hpp"
#include "base/failure.hpp"
#include "base/log.hpp"
#include "wire/error.hpp"
#include "wire/leadership.hpp"
#include "wire/listener.hpp"
#include "wire/reactor.hpp"
#include "wire/stream_link.hpp"

namespace fiber::actors {
namespace {

constexpr std::chrono::seconds last_words{2}; ///< To get results out before the job ends.
constexpr std::chrono::milliseconds flush_limit{500}; ///< The same for open streams.
constexpr std::chrono::seconds dial_limit{30};
constexpr int exit_lease = 72, exit_orphan = 73;

/// Task after task takes and frees blocks of the same sizes. By default large ones come
/// fresh from the kernel each time, which clears their pages: most of the cost of a task
/// with a megabyte of arguments.
void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20); // As much as glibc takes.
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

enum class Children { stay, end };

/// Without running what static objects do at exit: slots may still run.
[[noreturn]] void end_process(int code, Children children) {
  if (children == Children::end && getpgrp() == getpid())
    kill(0, SIGKILL);
  std::_Exit(code);
}

/// Bounds what comes before the end: a pipe that nobody reads, a stream that another
/// thread has locked, would hold the process for ever.
void end_process_within(std::chrono::milliseconds limit, int code, Children children) {
  std::thread([=] {
    std::this_thread::sleep_for(limit);
    end_process(code, children);
  }).detach();
}

[[noreturn]] void leave(int code) {
  end_process_within(flush_limit, code, Children::stay);
  try {
    std::cout.flush();                 // A program may have cut it off from stdio.
  } catch (const std::ios::failure&) { // As it asked for.
  }
  std::fflush(nullptr);
  end_process(code, Children::stay);
}

/// A task that calls exit() ends the job as any end does: static objects stay, as other
/// threads use them.
void leave_at_exit() {
#ifdef __GLIBC__
  on_exit([](int code, void*) { leave(code); }, nullptr);
#endif
}

/// Nobody is there to end what the tasks have started: this job and its children end
/// together.
[[noreturn]] void leave_with_children(int code) {
  std::fflush(nullptr);
  end_process(code, Children::end);
}

/// Ends the job when its driver is gone.
class DriverLink final : public LinkToActor {
public:
  DriverLink(caf::actor_system& system, caf::actor node, std::shared_ptr<wire::Link> link,
             std::shared_ptr<JobLog> log)
    : LinkToActor(system, std::move(node)), link_(std::move(link)), log_(std::move(log)) {
  }

  void on_silence() override {
    end_process_within(last_words, exit_lease, Children::end);
    log_->link_over();
    log().warn("nothing heard from the driver for the whole lease; this job ends");
    Bytes head;
    Writer writer(head);
    write(writer, Op::lease_over);
    link_->send(task_stream, std::move(head));
    leave_with_children(exit_lease);
  }
  void on_closed(const std::string& reason) override {
    end_process_within(flush_limit, exit_orphan, Children::end);
    log().debug("the driver is gone: {}", reason);
    leave_with_children(exit_orphan);
  }

private:
  std::shared_ptr<wire::Link> link_;
  std::shared_ptr<JobLog> log_;
};

struct SystemConfig : caf::actor_system_config {
  SystemConfig() {
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", 1U);
  }
};

[[noreturn]] void refuse(const std::exception& error, int code) {
  log().error("this job can't become a node: {}", error.what());
  leave(code);
}

std::shared_ptr<wire::Link> open_link(wire::Reactor& reactor, backends::JobEntry& entry,
                                      const NodeBoot& boot) {
  wire::LinkOptions options;
  options.heartbeat_interval = boot.heartbeat_interval;
  options.silence_limit = boot.lease;
  if (boot.host.empty())
    return wire::adopt(reactor, std::move(entry.link), options);
  return wire::dial(reactor, boot.host, boot.port, wire::Identity::unpack(entry.keys),
                    {boot.session, build_id(), boot.incarnation}, dial_limit, options);
}

/// A silent peer is not lost for that, only the link to it.
std::shared_ptr<PeerLinks> peer_links(wire::Reactor& reactor, caf::actor_system& system,
                                      const std::shared_ptr<ObjectSpace>& objects,
                                      const std::shared_ptr<wire::Link>& driver,
                                      const backends::JobEntry& entry,
                                      const NodeBoot& boot) {
  PeerLinks::Parts parts{
    .reactor = &reactor, .system = &system, .objects = objects, .driver = driver};
  parts.link.heartbeat_interval = boot.heartbeat_interval;
  parts.link.silence_limit = 4 * boot.heartbeat_interval;
  if (!boot.host.empty()) {
    parts.identity = wire::Identity::unpack(entry.keys);
    parts.hello = {boot.session, build_id(), boot.incarnation};
    parts.driver_host = boot.host;
  }
  return std::make_shared<PeerLinks>(std::move(parts));
}

/// What does to tasks as they start what FIBER_CHAOS asks for; empty if that is nothing.
/// The last run that a task is allowed is left alone.
std::function<void(std::uint64_t, const TaskContext&)>
chaos_of(const NodeBoot& boot, const std::shared_ptr<wire::Link>& link) {
  auto chaos = Chaos::parse(boot.chaos).value_or(Chaos{});
  if (!chaos.on())
    return nullptr;
  return [chaos, link, most = boot.max_retries, beat = 4 * boot.heartbeat_interval](
           std::uint64_t call, const TaskContext& task) {
    auto [fate, length] = chaos.draw(call, task.index, task.attempt);
    if (fate == Chaos::Fate::none || (most >= 0 && task.attempt > most))
      return;
    Bytes told;
    Writer writer(told);
    writer.put(Op::chaos);
    writer.put(ChaosNote{fate, task.rank});
    link->send(task_stream, std::move(told));
    link->flush(last_words);
    if (fate == Chaos::Fate::kill)
      kill_this_process();
    stall_this_process(
      std::chrono::duration_cast<std::chrono::nanoseconds>(beat * length));
  };
}

/// `initializer` is not valid if there is none.
void run_slot(caf::actor_system& system, const caf::actor& node, SlotWorker& slot,
              const std::shared_future<CallCode>& initializer) {
  CrashHandlerStack for_crashes;
  if (initializer.valid()) {
    try {
      slot.initialize(initializer.get());
    } catch (...) {
      send_on_this_thread(system, node, SlotFailed{capture_failure()}); // Ends the job.
      slot.run();
    }
  }
  send_on_this_thread(system, node, SlotReady{});
  slot.run();
}

} // namespace

void run_node(backends::JobEntry entry, const std::function<void()>& at_end) {
  keep_freed_memory();
  std::shared_ptr<JobLog> job_log;
  try {
    auto boot = NodeBoot::unpack(entry.boot);
    log().set_level(spdlog::level::from_str(boot.log_level));
    // The driver's alone: what a task starts must not write to the same file.
    for (auto* variable : {"FIBER_TRACE", "FIBER_METRICS"})
      unsetenv(variable);
    if (boot.slots == 0)
      run_anchor(entry, boot);
    report_crashes();
    leave_at_exit();
    // Never destroyed: the process ends while they are at work.
    auto& reactor = *new wire::Reactor; // NOLINT(cppcoreguidelines-owning-memory)
    auto& config = *new SystemConfig;   // NOLINT(cppcoreguidelines-owning-memory)
    auto& system =
      *new caf::actor_system(config); // NOLINT(cppcoreguidelines-owning-memory)
    auto link = open_link(reactor, entry, boot);
    auto objects =
      std::make_shared<ObjectSpace>(system, boot.incarnation, [](std::uint64_t id) {
        return ShareCache::instance().hold(id);
      });
    objects->connect(0, link);
    if (entry.page)
      objects->set_ledger(boot.incarnation, std::make_shared<JobLedger>(entry.page));
    ThisJob::set(
      {&system, objects, reactor.leadership(), boot.session_tag, boot.host,
       ActorPort::open(objects, boot.session_tag, std::make_shared<ProgramActors>())});
    job_log = std::make_shared<JobLog>(link, log_sinks());
    redirect_log(job_log);
    auto exit_code = EXIT_SUCCESS;
    std::vector<std::shared_ptr<SlotWorker>> slots;
    for (std::uint32_t i = 0; i < boot.slots; ++i) {
      auto& slot = slots.emplace_back();
      SlotWorker::Settings settings{
        i,
        boot.first_rank + i,
        link,
        entry.page,
        [&reactor, &slots, i](std::chrono::milliseconds after) {
          reactor.after(after, [&slots, i] { slots[i]->flush_results(); });
        },
        reactor.leadership(),
        boot.task_timeout,
        chaos_of(boot, link),
        boot.trace};
      settings.objects = objects;
      if (boot.use != NodeUse::pool) // It goes when the driver has the result.
        settings.after_task = [&](TaskResult::Status status, const Bytes& result) {
          exit_code = process_exit_code(boot, status, result);
        };
      slot = std::make_shared<SlotWorker>(std::move(settings));
    }
    auto abort = [link](int code) {
      link->flush(last_words);
      leave(code);
    };
    std::promise<CallCode> told;
    std::shared_future<CallCode> initializer;
    if (boot.initializer)
      initializer = told.get_future().share();
    auto peers = peer_links(reactor, system, objects, link, entry, boot);
    auto node =
      spawn_node(system, {boot.incarnation, link, slots,
                          [&told](CallCode code) { told.set_value(std::move(code)); },
                          abort, boot.task_timeout, objects, peers});
    peers->tell(node);
    auto summon = [&reactor] { reactor.leadership()->summon(); };
    objects->peers().before_waiting(summon);
    ShareCache::instance().connect(link, summon);
    if (boot.use == NodeUse::pool) // A process ends by it, unless its function says else.
      reactor.on_signal(
        SIGTERM, [&system, node] { send_on_this_thread(system, node, DrainNode{}); });
    link->start(std::make_shared<DriverLink>(system, node, link, job_log));
    std::vector<std::thread> threads;
    for (std::uint32_t i = 1; i < boot.slots; ++i)
      threads.emplace_back([&, i] { run_slot(system, node, *slots[i], initializer); });
    run_slot(system, node, *slots[0], initializer);
    for (auto& thread : threads)
      thread.join();
    at_end();
    objects->peers().settle(last_words); // A connection may end with bytes in it.
    link->flush(last_words);
    leave(exit_code);
  } catch (const wire::Unreachable& error) {
    refuse(error, exit_unreachable);
  } catch (const wire::OtherBuild& error) {
    refuse(error, exit_other_build);
  } catch (const std::exception& error) {
    if (job_log)
      job_log->link_over();
    refuse(error, EXIT_FAILURE);
  }
}

} // namespace fiber::actors
