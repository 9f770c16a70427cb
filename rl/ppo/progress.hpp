// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <boost/serialization/access.hpp>
#include <boost/serialization/vector.hpp>

#include "fiber/rl/ppo_options.hpp"
#include "fiber/rl/ppo_trainer.hpp"
#include "rl/ppo/learner.hpp"

namespace fiber::rl::ppo {

/// What an update learned from, and how long it took.
struct UpdateRecord {
  std::size_t rows = 0;            ///< Steps of all environments together.
  std::span<const double> returns; ///< Of the episodes that ended.
  double explained_variance = 0;
  Losses losses = {};
  double learning_rate = 0;
  double seconds = 0, waited = 0; ///< Of these seconds, those without rows to learn from.
};

/// How far a training is.
class Progress {
public:
  const PpoUpdate& add(const UpdateRecord& record);
  /// The statistics of the last update.
  const PpoUpdate& row() const { return row_; }

private:
  friend class boost::serialization::access;
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& last_returns_& row_.update& row_.steps& row_.episodes& row_.seconds;
    if constexpr (Archive::is_loading::value)
      row_.return_mean = mean_of_last_returns();
  }
  double mean_of_last_returns() const;

  PpoUpdate row_;
  std::vector<double> last_returns_; ///< Of up to 100 episodes.
};

/// How much of the variance of the returns the values explain; 1 is all.
double explained_variance(std::span<const float> values, std::span<const float> returns);

/// Detail 4, an option: the learning rate and the clip range go linearly to 0.
struct Rates {
  double learning_rate, clip_range;
};
/// After so many steps of all environments together.
Rates rates_after(std::uint64_t steps, const PpoOptions& settings);

} // namespace fiber::rl::ppo
