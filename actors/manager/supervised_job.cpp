// SPDX-License-Identifier: Apache-2.0
#include "actors/manager/supervised_job.hpp"

#include <optional>
#include <string>
#include <utility>

#include <caf/all.hpp>

#include "actors/core/exit.hpp"
#include "actors/process/process_actor.hpp"
#include "actors/supervision/supervisor_actor.hpp"
#include "base/exit_of.hpp"
#include "fiber/detail/caf/message_type.hpp"
#include "fiber/error.hpp"

namespace fiber::actors {

// Messages of the actor to itself.
struct ObjectsUp {};
struct ObjectsFailed {
  std::exception_ptr why;
};
struct JobOver {
  std::exception_ptr why;
};

} // namespace fiber::actors

FIBER_ACTOR_MESSAGE(fiber::actors::ObjectsUp)
FIBER_ACTOR_MESSAGE(fiber::actors::ObjectsFailed)
FIBER_ACTOR_MESSAGE(fiber::actors::JobOver)

namespace fiber::actors {
namespace {

constexpr std::chrono::seconds stop_grace{5}; ///< For running calls and on_stop().

/// Returns whether the job has exited with 0.
bool ended_well(const std::exception_ptr& why) {
  try {
    std::rethrow_exception(why);
  } catch (const WorkerLost& lost) {
    return exit_of(lost) == 0;
  } catch (...) {
    return false;
  }
}

struct SupervisedJobState {
  static constexpr const char* name = "fiber.supervised_job";

  explicit SupervisedJobState(caf::event_based_actor* self) : self(self) {}
  /// Even an unplanned end leaves no job behind.
  ~SupervisedJobState() {
    if (!settings)
      return;
    settings->job.objects->unwatch(watcher);
    if (job)
      caf::anon_send_exit(job, caf::exit_reason::user_shutdown);
  }

  caf::behavior make_behavior(caf::actor of, SupervisedJobSettings with) {
    supervisor = std::move(of);
    settings = std::move(with);
    auto me = caf::actor_cast<caf::actor>(self);
    watcher =
      settings->job.objects->watch({.up = [me] { caf::anon_send(me, ObjectsUp{}); },
                                    .failed =
                                      [me](std::exception_ptr why) {
                                        caf::anon_send(me, ObjectsFailed{std::move(why)});
                                      }});
    self->set_exit_handler(
      [this](const caf::exit_msg& message) { stop(is_restart_exit(message.reason)); });
    self->set_down_handler([this](const caf::down_msg& down) {
      if (job && down.source == job.address())
        job_down();
    });
    job = start_object_job(
      self, settings->job,
      [me](std::exception_ptr end) { caf::anon_send(me, JobOver{std::move(end)}); },
      settings->news);
    self->monitor(job);
    return {
      [this](ObjectsUp) {
        if (stopping || problem)
          return;
        settings->up();
        self->send(supervisor, ChildStarted{});
      },
      [this](const ObjectsFailed& failed) {
        if (stopping || problem)
          return;
        problem = failed.why;
        self->send(job, EndProcess{});
      },
      [this](const JobOver& end) { why = end.why; },
    };
  }

  void stop(bool to_start_again) {
    if (std::exchange(stopping, true))
      return;
    if (settings->job.objects->stop(stop_error(), to_start_again))
      self->delayed_send(job, stop_grace, EndProcess{});
    else
      self->send(job, EndProcess{});
  }

  /// The job is down; JobOver has come before.
  void job_down() {
    job = nullptr;
    auto objects = settings->job.objects;
    objects->unwatch(watcher);
    if (problem)
      why = problem;
    if (stopping) {
      objects->lost(stop_error(), false);
      settings->down(nullptr);
      return self->quit(caf::exit_reason::user_shutdown);
    }
    if (!why) // Its task has returned unasked.
      why = std::make_exception_ptr(Closed(settings->job.name + " has ended by itself"));
    auto succeeded = ended_well(why);
    objects->lost(why, false);
    settings->down(succeeded ? nullptr : why);
    self->quit(make_exit(succeeded ? ExitKind::planned : ExitKind::lost, in_words(why)));
  }

  static std::exception_ptr stop_error() {
    std::string reason = "its supervisor has stopped it";
    return std::make_exception_ptr(WorkerLost(reason, std::nullopt, reason, {}));
  }

  caf::event_based_actor* self;
  caf::actor supervisor;
  std::optional<SupervisedJobSettings> settings;
  caf::actor job; ///< Null when it has ended.
  std::uint64_t watcher = 0;
  std::exception_ptr why;     ///< Why the job has ended.
  std::exception_ptr problem; ///< Why the objects could not be made.
  bool stopping = false;
};

} // namespace

std::string in_words(const std::exception_ptr& why) {
  try {
    std::rethrow_exception(why);
  } catch (const WorkerLost& lost) {
    return lost.reason().empty() ? lost.what() : lost.reason();
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "unknown";
  }
}

caf::actor spawn_supervised_job(caf::event_based_actor* supervisor,
                                SupervisedJobSettings settings) {
  return supervisor->system().spawn(
    [](caf::stateful_actor<SupervisedJobState>* self, const caf::actor& of,
       const SupervisedJobSettings& with) { return self->state.make_behavior(of, with); },
    caf::actor_cast<caf::actor>(supervisor), std::move(settings));
}

} // namespace fiber::actors
