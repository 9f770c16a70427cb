// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <boost/serialization/vector.hpp>

#include "fiber/rl/evolution_evaluation.hpp"
#include "fiber/rl/image.hpp"
#include "fiber/rl/terrain.hpp"

namespace fiber::rl::poet {

/// What all tasks have in common that try one agent in one environment. It is sent once
/// to each job.
struct Job {
  TerrainOptions terrain;
  int max_steps = 0;
  Generation generation;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& terrain& max_steps& generation;
  }
};

/// A direction of the search, tried.
struct Trial {
  DirectionResult result;
  std::uint64_t steps = 0; ///< Of both episodes.

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& result& steps;
  }
};

/// An episode of an agent, played.
struct Played {
  double result = 0; ///< Its return.
  std::uint64_t steps = 0;
};

/// A place in the world, in metres.
struct Spot {
  double x = 0, y = 0;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& x& y;
  }
};

/// An episode with the way that the walker took.
struct Trace {
  double result = 0;
  bool fell = false;
  std::vector<Spot> path; ///< The middle of the hull, from the start to the end.
  Terrain terrain;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& result& fell& path& terrain;
  }
};

/// Tries both candidates of a direction, which is an offset in the noise table.
Trial try_direction(const Job& job, std::span<const float> noise, std::uint64_t offset);

/// Plays the episode of this index with the agent as it is.
Played play_episode(const Job& job, std::uint64_t index);

/// Plays the same episode, and takes down the way. `see` is called with a picture of each
/// step, if it is given.
Trace trace_episode(const Job& job, std::uint64_t index,
                    const std::function<void(Image)>& see = {});

/// A result that may still be computed. Called once; blocks until the result is there.
template <class T>
using Later = std::function<T()>;

/// Where episodes are played: on a pool, or in this process. Both functions return before
/// the results are there, so that the work of all pairs is in flight together.
class Evaluator {
public:
  Evaluator() = default;
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;
  virtual ~Evaluator() = default;

  /// A Trial for each offset, in their order.
  virtual Later<std::vector<Trial>>
  try_directions(Job job, std::vector<std::uint64_t> offsets) = 0;
  /// Episodes 0 to count - 1.
  virtual Later<std::vector<Played>> play(Job job, std::uint64_t count) = 0;
};

/// Plays in this process, when a result is asked for.
class InlineEvaluator final : public Evaluator {
public:
  /// `noise` must outlive this.
  explicit InlineEvaluator(std::span<const float> noise) : noise_(noise) {}

  Later<std::vector<Trial>> try_directions(Job job,
                                           std::vector<std::uint64_t> offsets) override;
  Later<std::vector<Played>> play(Job job, std::uint64_t count) override;

private:
  std::span<const float> noise_;
};

} // namespace fiber::rl::poet
