// SPDX-License-Identifier: Apache-2.0
#include "actors/ring/ring_actor.hpp"

#include <optional>
#include <random>
#include <utility>

#include <caf/all.hpp>

#include "actors/process/process_actor.hpp"
#include "actors/ring/ring_attempt.hpp"
#include "actors/ring/ring_board.hpp"
#include "actors/supervision/restart_policy.hpp"
#include "base/log.hpp"
#include "fiber/detail/caf/message_type.hpp"

namespace fiber::actors {

// Messages of the ring to itself.

/// The task of a member has ended.
struct MemberOutcome {
  int attempt = 0;
  std::size_t rank = 0;
  detail::RawOutcome outcome;
};
/// The job of a member has ended.
struct MemberEnded {
  int attempt = 0;
  std::size_t rank = 0;
};
/// The time to wait for the cause of a lost contact is over.
struct GiveUpWaiting {
  int attempt = 0;
};
struct StartAttempt {};

} // namespace fiber::actors

FIBER_ACTOR_MESSAGE(fiber::actors::MemberOutcome)
FIBER_ACTOR_MESSAGE(fiber::actors::MemberEnded)
FIBER_ACTOR_MESSAGE(fiber::actors::GiveUpWaiting)
FIBER_ACTOR_MESSAGE(fiber::actors::StartAttempt)

namespace fiber::actors {
namespace {

class MemberSink final : public ResultSink {
public:
  MemberSink(caf::actor ring, int attempt, std::size_t rank)
    : ring_(std::move(ring)), attempt_(attempt), rank_(rank) {}
  void deliver(std::vector<Completion> completions) override {
    for (auto& each : completions)
      caf::anon_send(ring_, MemberOutcome{attempt_, rank_, std::move(each.outcome)});
  }

private:
  const caf::actor ring_;
  const int attempt_;
  const std::size_t rank_;
};

struct RingState {
  static constexpr const char* name = "fiber.ring";
  using Fate = RingAttempt::Fate;

  explicit RingState(caf::event_based_actor* self) : self(self) {}
  /// However the ring ends, it answers every caller and ends its jobs.
  ~RingState() {
    for (auto& job : jobs)
      if (job)
        caf::anon_send_exit(job, caf::exit_reason::user_shutdown);
    fail(std::make_exception_ptr(Closed("the session has ended")));
  }

  caf::behavior make_behavior(RingSettings with) {
    settings = std::move(with);
    self->set_exit_handler([this](caf::exit_msg& message) {
      session_ending = true;
      fail(std::make_exception_ptr(Closed("the session has ended")));
      for (auto& job : jobs)
        if (job)
          self->send_exit(job, message.reason);
      if (running == 0)
        self->quit();
    });
    start();
    return {
      [this](MemberOutcome& member) {
        if (member.attempt == attempt_number)
          handle_outcome(member);
      },
      [this](const MemberEnded& member) { member_ended(member); },
      [this](GiveUpWaiting message) {
        if (message.attempt != attempt_number || !attempt)
          return;
        attempt->give_up_waiting();
        act_on_fate();
      },
      [this](StartAttempt) {
        if (!session_ending)
          start();
      },
    };
  }

  void start() {
    ++attempt_number;
    waiting_for_cause = fate_handled = false;
    streak.started(self->clock().now());
    attempt.emplace(settings.size);
    jobs.assign(settings.size, nullptr);
    settings.progress->attempt = attempt_number;
    settings.progress->collectives = 0;
    try {
      board = open_ring_board(settings.objects, settings.size, settings.progress);
    } catch (const Closed&) { // The session is ending.
      fail(std::current_exception());
      return self->quit();
    }
    auto me = caf::actor_cast<caf::actor>(self);
    for (std::size_t rank = 0; rank < settings.size; ++rank) {
      RingPlace place{rank, attempt_number, board};
      auto task =
        settings.make_task(place, std::make_shared<MemberSink>(me, attempt_number, rank));
      settings.progress->running = ++running;
      jobs[rank] = settings.start_job(self, place, std::move(task),
                                      [me, attempt = attempt_number, rank] {
                                        caf::anon_send(me, MemberEnded{attempt, rank});
                                      });
    }
  }

  void handle_outcome(MemberOutcome& member) {
    if (!attempt)
      return;
    attempt->ended(member.rank, std::move(member.outcome));
    if (attempt->wants_cause() && !std::exchange(waiting_for_cause, true))
      self->delayed_send(self, settings.cause_timeout, GiveUpWaiting{attempt_number});
    act_on_fate();
  }

  /// Reports the results, or ends all jobs, once the attempt's fate is known.
  void act_on_fate() {
    if (fate_handled || attempt->fate() == Fate::open)
      return;
    fate_handled = true;
    if (attempt->fate() == Fate::done)
      settings.end->set(
        std::make_shared<RingEnd>(RingEnd{attempt->take_results(), nullptr}));
    else
      for (auto& job : jobs)
        if (job)
          self->send(job, EndProcess{});
    if (running == 0)
      finish_attempt();
  }

  void member_ended(const MemberEnded& member) {
    settings.progress->running = --running;
    jobs[member.rank] = nullptr;
    if (running > 0)
      return;
    if (session_ending)
      return self->quit();
    if (fate_handled)
      return finish_attempt();
    attempt->give_up_waiting(); // No job is left that could tell the cause.
    act_on_fate();
  }

  /// All jobs have ended and the fate is known: ends the ring or starts the next attempt.
  void finish_attempt() {
    board = nullptr;
    if (attempt->fate() == Fate::done)
      return self->quit();
    if (attempt->fate() != Fate::lost) {
      fail(attempt->error());
      return self->quit();
    }
    losses.push_back({attempt->rank(), attempt->error()});
    auto restarts = losses.size() - 1;
    auto most = settings.max_restarts;
    if (most >= 0 && restarts >= static_cast<std::size_t>(most)) {
      fail(ring_lost(settings.name, losses));
      return self->quit();
    }
    if (most < 0)
      losses.clear(); // Without a limit they are never reported.
    auto wait = dice.wait(streak.failed(self->clock().now(), default_reset_after));
    log().warn("{} lost rank {} and restarts", settings.name, attempt->rank());
    self->delayed_send(self, wait, StartAttempt{});
  }

  void fail(std::exception_ptr error) {
    if (settings.end)
      settings.end->set(std::make_shared<RingEnd>(RingEnd{{}, std::move(error)}));
  }

  caf::event_based_actor* self;
  RingSettings settings;
  int attempt_number = 0; ///< Counts from 1.
  std::optional<RingAttempt> attempt;
  std::shared_ptr<ObjectHandle> board; ///< Board of the current attempt.
  std::vector<caf::actor> jobs;        ///< By rank; null: it has ended.
  std::size_t running = 0;             ///< Jobs that have not ended.
  bool waiting_for_cause = false;      ///< A GiveUpWaiting is pending.
  bool fate_handled = false;           ///< The attempt's fate is known and was acted on.
  bool session_ending = false;         ///< The session ends.
  std::vector<RingLoss> losses;
  FailureStreak streak;
  BackoffDice dice{Backoff{}, std::random_device()()};
};

} // namespace

caf::actor spawn_ring(caf::actor_system& system, RingSettings settings) {
  return system.spawn(
    [](caf::stateful_actor<RingState>* self, const RingSettings& with) {
      return self->state.make_behavior(with);
    },
    std::move(settings));
}

} // namespace fiber::actors
