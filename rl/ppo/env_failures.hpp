// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "fiber/rl/any_vec_env.hpp"

namespace fiber::rl::ppo {

/// What went wrong with environments, and did not end the training.
struct EnvFailures {
  std::size_t jobs_lost = 0, hangs = 0, errors = 0;
  std::string first_error = {}; ///< Empty if there are no errors.

  /// All failures of these environments so far.
  static EnvFailures of(const AnyVecEnv& envs);
  /// Those that came after `earlier`, which is the same count at an earlier time.
  EnvFailures since(const EnvFailures& earlier) const;
  /// Adds the failures of other environments, or of a later time.
  void add(const EnvFailures& more);
  /// In words; empty if there are none.
  std::string describe() const;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& jobs_lost& hangs& errors& first_error;
  }
};

/// Moves the rows that are valid to the front of each of `columns` and of `masks`, which
/// have as many rows as `valid`; `masks` may be empty. Returns the number of valid rows.
/// Throws std::runtime_error, which names `failures`, if they are fewer than the 2 that
/// learning needs.
std::size_t keep_valid_rows(std::span<const std::uint8_t> valid,
                            std::initializer_list<std::vector<float>*> columns,
                            std::vector<std::uint8_t>& masks,
                            const EnvFailures& failures);

} // namespace fiber::rl::ppo
