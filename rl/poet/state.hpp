// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/serialization/string.hpp>
#include <boost/serialization/vector.hpp>

#include "fiber/rl/evolution.hpp"
#include "fiber/rl/normalisation.hpp"
#include "rl/poet/environment_parameters.hpp"

namespace fiber::rl::poet {

/// An environment with all that its scores depend on. Its episodes follow from the seed,
/// the iteration and their index, so all candidates of an iteration play the same ones.
struct Niche {
  std::uint64_t id = 0; ///< From 1 on, in the order of admission.
  std::uint64_t seed = 0;
  EnvironmentParameters parameters = {};

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& id& seed& parameters;
  }
};

/// What acts, and what is needed to go on training it. The moments of the observations
/// that it has seen belong to its parameters: they move with it.
struct Agent {
  EvolutionState search = {};
  RunningMoments observations = {};

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& search& observations;
  }
};

/// An environment with the agent that is optimised in it.
struct Pair {
  Niche niche = {};
  Agent agent = {};
  /// When its search began: with the pair, or with the agent's last replacement.
  std::uint64_t search_began = 0;
  double score = 0; ///< The agent's mean return in this iteration's episodes.

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& niche& agent& search_began& score;
  }
};

/// How an agent comes to an environment: as it is, or after a step of the search there.
enum class Way : std::uint8_t { none, direct, proposal };

/// What happens to an environment.
struct Event {
  enum class What : std::uint8_t { start, admitted, transfer, retired };

  std::uint64_t iteration = 0;
  What what = What::start;
  std::uint64_t environment = 0;
  std::uint64_t parent = 0; ///< Of an admitted one; 0: none.
  std::uint64_t agent = 0;  ///< The environment whose agent came; 0: none.
  Way way = Way::none;
  /// The score of the agent before, which is the parent's agent for an admitted one; and
  /// that of the agent that came. Of a retired environment both are its last score.
  double before = 0, after = 0;
  EnvironmentParameters parameters = {};

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& iteration& what& environment& parent& agent& way& before& after& parameters;
  }
};

/// One pair after one iteration.
struct Point {
  std::uint64_t iteration = 0, environment = 0;
  double score = 0; ///< The agent's mean return, after the search's step.
  double best = 0;  ///< Of the step's candidates.
  double sigma = 0, learning_rate = 0;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& iteration& environment& score& best& sigma& learning_rate;
  }
};

/// How many agents were tried elsewhere, and how many stayed.
struct Attempts {
  std::uint64_t tried = 0, succeeded = 0;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& tried& succeeded;
  }
};

/// Everything that changes while POET runs: its checkpoint.
struct PoetState {
  std::uint64_t iteration = 0;                ///< Iterations that are done.
  std::vector<Pair> pairs;                    ///< The oldest first.
  std::vector<EnvironmentParameters> archive; ///< Of all pairs, also retired ones; the
                                              ///< parameters of id i are at i - 1.
  std::vector<Event> events;
  std::vector<Point> curve;
  Attempts direct, proposals; ///< Of transfers between pairs.
  std::uint64_t steps = 0;    ///< Of environments, so far.
  std::uint64_t episodes = 0; ///< Likewise.

  template <class Archive>
  void serialize(Archive& archive_, unsigned) {
    archive_& iteration& pairs& archive& events& curve& direct& proposals& steps&
      episodes;
  }
};

} // namespace fiber::rl::poet
