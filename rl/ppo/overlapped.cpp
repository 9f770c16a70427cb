// SPDX-License-Identifier: Apache-2.0
#include "rl/ppo/overlapped.hpp"

#include <exception>
#include <utility>

namespace fiber::rl::ppo {
namespace overlap {
namespace {

constexpr const char* kind = "fiber-ppo-overlapped-checkpoint";

ActorOptions player_of(const PpoOptions& options, const PolicySpec& spec) {
  ActorOptions result;
  result.environment = options.environment;
  result.spec = spec;
  result.seed = options.seed;
  result.envs = options.envs;
  result.rollout = options.rollout;
  result.on_error = options.on_error;
  return result;
}

/// Waits for a rollout at the end of its scope, even if the learner throws.
class Join {
public:
  explicit Join(const std::future<Trajectory>& rollout) : rollout_(rollout) {}
  ~Join() { wait(); }
  Join(const Join&) = delete;
  Join& operator=(const Join&) = delete;

  void wait() const {
    if (rollout_.valid())
      rollout_.wait();
  }

private:
  const std::future<Trajectory>& rollout_;
};

} // namespace
} // namespace overlap

OverlappedTraining::OverlappedTraining(const PpoOptions& options)
  : OffPolicyTraining(options),
    player_(overlap::player_of(options, spec_), 0,
            {.jobs = options.jobs, .step_timeout = options.step_timeout, .saves = true}) {
}

const PpoUpdate& OverlappedTraining::update() {
  const auto started = Clock::now();
  if (failed_)
    std::rethrow_exception(failed_);
  if (!next_.valid())
    begin_next();
  batch_.clear();
  try {
    batch_.add(next_.get());
  } catch (...) {
    failed_ = std::current_exception();
    throw;
  }
  auto waited = seconds_since(started);
  const overlap::Join join(next_);
  if (has_steps_for(2))
    begin_next();
  auto record = learn();
  const auto learnt = Clock::now();
  join.wait();
  record.waited = waited + seconds_since(learnt);
  record.seconds = seconds_since(started);
  return progress_.add(record);
}

void OverlappedTraining::begin_next() {
  const auto parameters = learner_.parameters();
  start_ = {player_.state(),
            last_row().update,
            {parameters.begin(), parameters.end()},
            batch_.observations()};
  play_next();
}

void OverlappedTraining::play_next() {
  player_.follow(start_.version, start_.parameters, start_.observations);
  next_ = std::async(std::launch::async, [this] { return player_.play(); });
}

std::string OverlappedTraining::checkpoint() const {
  return pack_state(label(overlap::kind, 1),
                    State{batch_.state(), learner_.state(), progress_, start_});
}

void OverlappedTraining::restore(const std::filesystem::path& name,
                                 std::string_view checkpoint) {
  auto state = unpack_state<State>(name, checkpoint, label(overlap::kind, 1));
  batch_.go_on_from(state.statistics);
  learner_.go_on_from(state.learner);
  progress_ = std::move(state.progress);
  start_ = std::move(state.next);
  if (!start_.parameters.empty() && !done()) {
    player_.go_on_from(start_.player);
    play_next();
  }
}

} // namespace fiber::rl::ppo
