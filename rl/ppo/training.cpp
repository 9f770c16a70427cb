// SPDX-License-Identifier: Apache-2.0
#include "rl/ppo/training.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "fiber/rl/checkpoint_file.hpp"
#include "fiber/rl/environments.hpp"
#include "rl/policy/draw.hpp"
#include "rl/ppo/seeds.hpp"

namespace fiber::rl::ppo {
namespace {

FileLabel label_of(const PpoOptions& options, const std::string& network) {
  return {.kind = "fiber-ppo-checkpoint",
          .version = 2,
          .settings = {{"environment", options.environment},
                       {"network", network},
                       {"seed", std::to_string(options.seed)},
                       {"settings", options.describe()}}};
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// One learner's part of all environments and of each minibatch.
PpoOptions part_of(PpoOptions options, const Peers* peers) {
  if (peers != nullptr) {
    options.envs /= peers->size();
    options.minibatch /= peers->size();
  }
  return options;
}

Learner learner_of(const std::optional<PolicySpec>& spec, const Spaces& spaces,
                   const PpoOptions& options, std::shared_ptr<PpoNetwork> network) {
  const auto order = seed_for(Use::order, options.seed);
  if (!spec)
    return {spaces, std::move(network), options, order};
  return {*spec, initial_parameters(*spec, seed_for(Use::networks, options.seed)),
          options, order};
}

} // namespace

Training::Training(const PpoOptions& options, Peers* peers,
                   std::shared_ptr<PpoNetwork> network)
  : options_(options), peers_(peers),
    rollouts_(part_of(options, peers),
              seed_of_learner(peers == nullptr ? 0 : peers->rank(), options.seed)),
    spec_(network ? std::nullopt
                  : std::optional(options.policy_spec(rollouts_.spaces()))),
    learner_(
      learner_of(spec_, rollouts_.spaces(), part_of(options, peers), std::move(network))),
    behaviour_(spec_ ? behaviour_policy(*spec_)
                     : behaviour_policy(rollouts_.spaces(), learner_)) {
  if (peers_ != nullptr)
    learner_.set_average([this](std::span<float> numbers) { peers_->average(numbers); });
}

Training::Training(const PpoOptions& options, Peers* peers)
  : Training(options, peers, nullptr) {}

Training::Training(const PpoOptions& options, std::shared_ptr<PpoNetwork> network)
  : Training(options, nullptr, std::move(network)) {}

bool Training::done() const {
  auto a_rollout = options_.envs * options_.rollout;
  return last_row().steps + a_rollout > options_.steps;
}

const PpoUpdate& Training::update() {
  auto started = Clock::now();
  behaviour_->follow(learner_);
  rollouts_.play(*behaviour_);
  auto waited = seconds_since(started);
  auto [rate, clip] = rates_after(last_row().steps, options_);
  auto samples = rollouts_.samples();
  auto told = of_all({rollouts_.seen(), rollouts_.returns(),
                      explained_variance(samples.values, samples.returns), samples.size(),
                      rollouts_.failures()});
  failures_ = told.failures;
  auto losses = learner_.update(samples, rate, clip, told.rows);
  return progress_.add({.rows = options_.envs * options_.rollout,
                        .returns = told.returns,
                        .explained_variance = told.explained_variance,
                        .losses = losses,
                        .learning_rate = rate,
                        .seconds = seconds_since(started),
                        .waited = waited});
}

/// Returns what all learners say together; of the variances, the mean.
Training::Told Training::of_all(Told own) {
  if (peers_ == nullptr)
    return own;
  Told all;
  all.rows = own.rows;
  std::vector<RunningMoments> seen;
  for (auto& bytes : peers_->gather(packed(own))) {
    auto told = unpacked<Told>(bytes);
    seen.push_back(std::move(told.seen));
    all.returns.insert(all.returns.end(), told.returns.begin(), told.returns.end());
    all.explained_variance +=
      told.explained_variance / static_cast<double>(peers_->size());
    all.rows = std::min(all.rows, told.rows);
    all.failures.add(told.failures);
  }
  if (options_.normalise_observations)
    rollouts_.replace_seen(seen);
  return all;
}

std::string Training::network() const {
  return spec_ ? spec_->describe() : learner_.own_network();
}

SavedPolicy Training::policy() const {
  if (!spec_)
    throw std::logic_error("a network of your own has no SavedPolicy: save it with "
                           "torch::save(), together with PpoTrainer::observations()");
  auto parameters = learner_.parameters();
  return {.environment = options_.environment,
          .spec = *spec_,
          .parameters = {parameters.begin(), parameters.end()},
          .observations = rollouts_.observations()};
}

Evaluation Training::evaluate(const EvaluationOptions& options) const {
  if (spec_)
    return Trainer::evaluate(options);
  const auto environment = make_environment(options_.environment);
  const auto normaliser = rollouts_.observations();
  std::vector<float> seen, actions, log_probabilities;
  std::vector<std::uint8_t> mask(rollouts_.spaces().mask_size());
  const auto choose = [&](std::span<const float> observation, const SampleKey& key,
                          std::span<float> action) {
    seen.assign(observation.begin(), observation.end());
    normaliser.apply(seen);
    auto outputs = learner_.infer(seen);
    environment->mask(mask);
    apply_masks(rollouts_.spaces(), mask, outputs.policy);
    if (options.deterministic)
      choose_actions(rollouts_.spaces(), outputs.policy, actions);
    else
      draw_actions(rollouts_.spaces(), outputs.policy, outputs.log_std, key, actions,
                   log_probabilities);
    std::ranges::copy(actions, action.begin());
  };
  return rl::evaluate(*environment, choose, options);
}

std::string Training::checkpoint() const {
  return pack_state(label_of(options_, network()), state());
}

Training::State Training::state() const {
  return {rollouts_.state(), learner_.state(), progress_};
}

void Training::go_on_from(State state) {
  learner_.go_on_from(state.learner);
  rollouts_.go_on_from(state.rollouts);
  progress_ = std::move(state.progress);
}

void Training::begin_with(const Learner::State& learner,
                          const ObservationNormaliser& observations,
                          const RewardNormaliser& rewards) {
  learner_.go_on_from(learner);
  rollouts_.begin_with(observations, rewards);
}

std::string Training::summary() const {
  return (peers_ == nullptr ? rollouts_.failures() : failures_).describe();
}

void Training::restore(const std::filesystem::path& name, std::string_view checkpoint) {
  go_on_from(unpack_state<State>(name, checkpoint, label_of(options_, network())));
}

} // namespace fiber::rl::ppo
