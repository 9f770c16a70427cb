// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rl/poet/environment_parameters.hpp"

namespace fiber::rl::poet {

/// All options that decide the result of a run. The workers do not influence it.
struct PoetOptions {
  std::uint64_t seed = 1;
  std::uint64_t iterations = 2000; ///< The maximum.

  // The search of each pair: an evolution strategy.
  std::vector<std::size_t> hidden = {40, 40}; ///< tanh units in each hidden layer.
  std::size_t directions = 256; ///< Each is tried both ways, in one episode each.
  std::size_t evaluations = 5;  ///< Episodes whose mean is an agent's score.
  int max_steps = 2000;         ///< Of an episode.
  double sigma = 0.1, sigma_decay = 0.999, min_sigma = 0.01;
  double learning_rate = 0.01, learning_rate_decay = 0.9999, min_learning_rate = 0.001;
  double counted_share = 0.2; ///< Of the directions, for normalising observations.
  std::size_t table_size = std::size_t{1} << 22; ///< Numbers in the noise table.

  // Transfers.
  std::uint64_t transfer_every = 25; ///< Iterations.
  bool proposals = true;             ///< Candidates also after a step of the search.

  // New environments.
  std::uint64_t mutate_every = 150;  ///< Iterations.
  double reproduce_at = 200;         ///< The score that makes a pair a parent.
  double min_return = 50;            ///< The minimal criterion: not too hard,
  double max_return = 300;           ///< and not too easy.
  std::size_t children = 8;          ///< Made in a round.
  std::size_t admitted = 1;          ///< At most, in a round.
  std::size_t max_environments = 40; ///< Then the oldest is retired.
  std::size_t neighbours = 5;        ///< Whose mean distance is the novelty.
  std::vector<std::string> genes = default_genes(); ///< That mutation may change.

  /// Throws std::invalid_argument, naming the option and what would be right.
  void check() const;

  /// Every option that must not change when a run is resumed, for FileLabel::settings;
  /// `iterations` may.
  std::map<std::string, std::string> settings() const;
};

} // namespace fiber::rl::poet
