// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <boost/serialization/binary_object.hpp>
#include <boost/serialization/vector.hpp>

#include <fiber/rl/cartpole.hpp>
#include <fiber/rl/random.hpp>

// An actor-critic for CartPole whose actors may play by older parameters than those that
// learn (IMPALA; Espeholt et al. 2018, arXiv 1802.01561). Without Fiber's jobs: usable,
// and tested, in one thread.

namespace actor_critic {

using Observation = std::array<float, fiber::rl::CartPole::observation_size>;

/// Two networks with a hidden layer of 64 tanh each: a policy, which gives the log odds
/// of a push to the right, and a critic, which gives the value of a state.
struct Parameters {
  static constexpr std::size_t hidden = 64;
  static constexpr std::size_t of_one = hidden * (4 + 1) + hidden + 1;

  std::vector<float> policy, critic; ///< of_one numbers each.

  /// Small random weights, so that at first every action is about as likely.
  static Parameters initial(std::uint64_t seed);

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& policy& critic;
  }
};

/// What an actor has lived through by one set of parameters.
struct Trajectory {
  struct Step {
    Observation seen = {};
    float reward = 0;
    float log_probability = 0;   ///< Of the action, where it was chosen.
    std::uint8_t right = 0;      ///< The action.
    std::uint8_t terminated = 0; ///< The task ended the episode here.
    std::uint8_t truncated = 0;  ///< The limit of steps did.
    Observation next = {};       ///< After the step, before a new episode.
  };
  std::vector<Step> steps;
  std::vector<float> returns; ///< Of the episodes that ended.

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& returns;
    auto n = steps.size();
    archive& n;
    steps.resize(n);
    archive& boost::serialization::make_binary_object(steps.data(), n * sizeof(Step));
  }
};

/// A CartPole and who plays it, episode after episode.
class Player {
public:
  /// The seed and the index decide its episodes.
  Player(std::uint64_t seed, std::uint64_t index);

  /// Draws its actions. `policy` are the parameters of that network.
  Trajectory play(const std::vector<float>& policy, std::size_t steps);

private:
  fiber::rl::Random random_;
  fiber::rl::CartPole pole_;
  float return_ = 0;
};

/// The return of one episode with the likelier action at each step.
double evaluate(const Parameters& parameters, std::uint64_t seed, std::uint64_t episode);

struct LearnerOptions {
  double discount = 0.99, lambda = 0.95; ///< Of V-trace.
  double rate = 0.01;                    ///< Of Adam for the policy, at first.
  double critic_rate = 0.01;             ///< The same for the critic.
  std::uint64_t critic_steps = 10;       ///< Of the critic, for each of the policy.
  double entropy = 0.01;                 ///< Weight of the policy's entropy.
};

/// What learns: parameters and the moments of Adam.
struct Learner {
  explicit Learner(std::uint64_t seed);
  Learner() = default;

  /// One step of both networks, by trajectories of one length, of any actors. V-trace
  /// corrects for the age of the parameters that these played by. `left`: the share of
  /// the training that is to come, by which the rate goes down.
  void update(const std::vector<Trajectory>& batch, const LearnerOptions& options,
              double left);

  Parameters parameters;
  std::uint64_t updates = 0;
  std::vector<float> moments; ///< First, then second, of policy and critic.

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& parameters& updates& moments;
  }
};

} // namespace actor_critic
