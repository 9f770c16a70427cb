// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>

namespace fiber::rl {

/// Random numbers that follow from a key alone, such as (seed, iteration, index).
///
/// The same key gives the same numbers in any process, in any order, and again after a
/// crash. The algorithms are SplitMix64 and Box-Muller. The distributions of the standard
/// library are not used, because they differ between implementations.
///
/// Thread safety: none; each thread makes its own.
class Random {
public:
  explicit Random(std::uint64_t seed, std::initializer_list<std::uint64_t> key = {});

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

} // namespace fiber::rl
