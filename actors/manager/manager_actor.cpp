// SPDX-License-Identifier: Apache-2.0
#include "actors/manager/manager_actor.hpp"

#include <random>
#include <utility>

#include <caf/all.hpp>

#include "actors/supervision/restart_policy.hpp"
#include "base/log.hpp"
#include "fiber/detail/caf/message_type.hpp"

namespace fiber::actors {

// Messages of the manager to itself.
struct JobEnded {
  std::uint64_t job = 0;
  std::exception_ptr why;
};
struct StartJob {};
/// The objects could not be made in the job.
struct JobFailed {
  std::exception_ptr why;
};

} // namespace fiber::actors

FIBER_ACTOR_MESSAGE(fiber::actors::JobEnded)
FIBER_ACTOR_MESSAGE(fiber::actors::StartJob)
FIBER_ACTOR_MESSAGE(fiber::actors::JobFailed)

namespace fiber::actors {
namespace {

constexpr std::chrono::seconds end_grace{5}; ///< For running calls.

struct ManagerState {
  static constexpr const char* name = "fiber.manager";

  explicit ManagerState(caf::event_based_actor* self) : self(self) {}
  ~ManagerState() {
    if (objects)
      objects->unwatch(watcher);
    if (settings.ended)
      settings.ended->set(true);
  }

  caf::behavior make_behavior(ManagerSettings with) {
    settings = std::move(with);
    objects = settings.job.objects;
    auto me = caf::actor_cast<caf::actor>(self);
    watcher = objects->watch({.up = nullptr, .failed = [me](std::exception_ptr why) {
                                caf::anon_send(me, JobFailed{std::move(why)});
                              }});
    self->set_exit_handler([this](caf::exit_msg& message) {
      ending = true;
      if (!job)
        return self->quit();
      self->send_exit(job, message.reason);
    });
    self->set_down_handler([this](caf::down_msg& down) {
      if (job && down.source == job.address()) {
        job = nullptr;
        if (ending)
          self->quit();
      }
    });
    start();
    return {
      [this](const JobEnded& end) {
        if (end.job == job_number)
          job_ended(end.why);
      },
      [this](StartJob) {
        if (!ending)
          start();
      },
      [this](const JobFailed& failed) {
        if (!job || ending)
          return;
        problem = failed.why;
        self->send(job, EndProcess{});
      },
      [this](EndManager) { end(); },
    };
  }

  void start() {
    problem = nullptr;
    streak.started(self->clock().now());
    auto me = caf::actor_cast<caf::actor>(self);
    job = start_object_job(self, settings.job, [me, number = ++job_number](auto why) {
      caf::anon_send(me, JobEnded{number, std::move(why)});
    });
    self->monitor(job);
  }

  void job_ended(std::exception_ptr why) {
    if (ending)
      return; // The end of the job's actor follows.
    if (problem)
      why = problem;
    if (!why) // Its task has returned unasked.
      why = std::make_exception_ptr(Closed(settings.job.name + " has ended by itself"));
    auto now = self->clock().now();
    auto restarts = settings.restart != Restart::temporary && window.add(now);
    objects->lost(why, !restarts);
    if (!restarts)
      return;
    auto wait = dice.wait(streak.failed(now, default_reset_after));
    log().warn("{} restarts", settings.job.name);
    self->delayed_send(self, wait, StartJob{});
  }

  void end() {
    if (std::exchange(ending, true))
      return;
    objects->end([] {});
    if (!job)
      return self->quit();
    self->delayed_send(job, end_grace, EndProcess{});
  }

  caf::event_based_actor* self;
  ManagerSettings settings;
  std::shared_ptr<ManagedObjects> objects;
  std::uint64_t watcher = 0;
  caf::actor job;               ///< Null while there is none.
  std::uint64_t job_number = 0; ///< Number of the current or last job.
  std::exception_ptr problem;
  bool ending = false;
  SupervisorOptions limits;
  RestartWindow window{limits.intensity, limits.period};
  FailureStreak streak;
  BackoffDice dice{limits.backoff, std::random_device()()};
};

} // namespace

caf::actor spawn_manager(caf::actor_system& system, ManagerSettings settings) {
  return system.spawn(
    [](caf::stateful_actor<ManagerState>* self, const ManagerSettings& with) {
      return self->state.make_behavior(with);
    },
    std::move(settings));
}

} // namespace fiber::actors
