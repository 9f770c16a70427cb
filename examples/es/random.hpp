// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>

namespace es {

/// What a stream of random numbers is for. Part of its key, so that no two uses share
/// one.
enum class Use : std::uint64_t {
  initial_parameters = 1,
  noise_table,
  noise_offset,
  training_episode,
  evaluation_episode,
  confirmation_episode,
};

/// Random numbers that follow from a key alone, such as (seed, use, iteration, index).
///
/// Whoever knows the key can draw the numbers, in any process, in any order, again after
/// a crash. The algorithms are written out here (SplitMix64, Box-Muller) since those
/// behind the standard's distributions differ from library to library.
class Random {
public:
  Random(std::uint64_t seed, Use use, std::initializer_list<std::uint64_t> index = {});

  std::uint64_t next();

  /// Uniform in [0, 1), with 53 random bits.
  double uniform();

  /// Uniform in [low, high).
  double uniform(double low, double high);

  /// Uniform in 0..count-1. `count` must not be 0.
  std::uint64_t below(std::uint64_t count);

  /// Normal with mean 0 and variance 1.
  double normal();

private:
  std::uint64_t state_;
};

} // namespace es
