// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fiber/share.hpp>
#include <fiber/value.hpp>

#include "fiber/rl/normalisation.hpp"
#include "rl/ppo/env_failures.hpp"

namespace fiber::rl::ppo {

/// What actors play by: the parameters of a policy, and what its observations go through
/// before.
struct PublishedPolicy {
  std::uint64_t version; ///< The number of the update that made it.
  SharedArray<float> parameters;
  FrozenNormaliser observations;

  void fiber_pack(Writer& writer) const {
    pack(writer, version);
    pack(writer, parameters);
    pack(writer, observations);
  }
  static PublishedPolicy fiber_unpack(Reader& reader) {
    auto version = unpack<std::uint64_t>(reader);
    auto parameters = unpack<SharedArray<float>>(reader);
    return {version, std::move(parameters), unpack<FrozenNormaliser>(reader)};
  }
};

/// What an actor's environments lived through in some steps, by one version of the
/// policy. Rows are time-major, as in Rollout.
struct Trajectory {
  std::size_t first_env = 0, envs = 0; ///< Environments first_env to first_env + envs-1.
  /// For each of these, whether an episode began at the first row that continues none of
  /// the trajectory before.
  std::vector<std::uint8_t> begins = {};
  std::uint64_t version = 0; ///< Of the policy that acted.

  std::vector<float> observations = {}; ///< As the environments show them.
  std::vector<float> actions = {};      ///< As they were drawn.
  std::vector<float> log_probabilities = {};
  std::vector<double> rewards = {};
  std::vector<std::uint8_t> terminated = {}, truncated = {}, valid = {};
  std::vector<std::uint8_t> masks = {}; ///< Of `observations`, if actions are masked.
  std::vector<float> last_observations = {};  ///< After the last step, `envs` rows.
  std::vector<float> final_observations = {}; ///< One for each row that is cut_off().
  std::vector<double> returns = {};           ///< Of the episodes that ended.
  EnvFailures failures = {};                  ///< Since the trajectory before.

  std::string error = {}; ///< Why the actor can't go on; then there are no rows.

  std::size_t rows() const { return rewards.size(); }
  /// Whether the value of an episode's last observation follows row i.
  bool cut_off(std::size_t i) const {
    return valid[i] == 1 && truncated[i] == 1 && terminated[i] == 0;
  }

  void fiber_pack(Writer& writer) const {
    each(*this, [&](const auto& member) { pack(writer, member); });
  }
  static Trajectory fiber_unpack(Reader& reader) {
    Trajectory result;
    each(result, [&]<class T>(T& member) { member = unpack<T>(reader); });
    return result;
  }

private:
  template <class Self, class F>
  static void each(Self& self, F f) {
    f(self.first_env);
    f(self.envs);
    f(self.begins);
    f(self.version);
    f(self.observations);
    f(self.actions);
    f(self.log_probabilities);
    f(self.rewards);
    f(self.terminated);
    f(self.truncated);
    f(self.valid);
    f(self.masks);
    f(self.last_observations);
    f(self.final_observations);
    f(self.returns);
    f(self.failures);
    f(self.error);
  }
};

} // namespace fiber::rl::ppo
