// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <boost/serialization/access.hpp>
#include <boost/serialization/vector.hpp>

namespace fiber::rl {

/// Running mean and variance of each component of rows of numbers. The rows are not kept.
///
/// Rows are added one after another (Welford 1962). Moments of several workers can be
/// merged (Chan, Golub and LeVeque 1979). Both agree with the two-pass algorithm to about
/// 1e-12. Rounding depends on the order: for a result that repeats to the last bit, merge
/// in a fixed order, such as that of environment ids.
class RunningMoments {
public:
  RunningMoments() = default;
  /// For rows with `size` components.
  explicit RunningMoments(std::size_t size) : mean_(size), squares_(size) {}

  /// Adds rows of size() numbers, one after another. If `valid` is not empty, it has one
  /// flag for each row, and rows with the flag 0 are skipped. Throws
  /// std::invalid_argument if `rows` are not whole rows or the number of flags is wrong,
  /// and std::domain_error, naming the row, if a number is not finite. In both cases no
  /// row is added.
  void add(std::span<const float> rows, std::span<const std::uint8_t> valid = {});
  void add(std::span<const double> rows, std::span<const std::uint8_t> valid = {});
  /// Adds all rows that `other` has seen. Throws std::invalid_argument if its size
  /// differs.
  void merge(const RunningMoments& other);

  std::size_t size() const { return mean_.size(); }
  std::uint64_t count() const { return count_; } ///< The rows seen.
  std::span<const double> mean() const { return mean_; }
  /// The variance of the rows seen (divided by count()); 1 before there are two rows.
  double variance(std::size_t component) const;

  friend bool operator==(const RunningMoments&, const RunningMoments&) = default;

private:
  friend class boost::serialization::access;
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& count_& mean_& squares_;
  }
  template <class Number>
  void add_rows(std::span<const Number> rows, std::span<const std::uint8_t> valid);

  std::uint64_t count_ = 0;
  std::vector<double> mean_;
  std::vector<double> squares_; ///< Sums of squared distances from the mean.
};

/// Normalises observations with moments that no longer change: (x - mean) / sqrt(variance
/// + epsilon), clipped to [-clip, clip]. Evaluation and actors use it. It is small to
/// send.
class FrozenNormaliser {
public:
  /// The identity, for rows of any size.
  FrozenNormaliser() = default;
  FrozenNormaliser(const RunningMoments& moments, double clip, double epsilon);
  /// Makes a copy from mean(), scale() and clip() of another. Throws
  /// std::invalid_argument if `mean` and `scale` differ in size.
  FrozenNormaliser(std::vector<double> mean, std::vector<double> scale, double clip);

  /// Normalises rows in place. Throws std::invalid_argument if they are not of the
  /// moments' size.
  void apply(std::span<float> rows) const;
  bool identity() const { return mean_.empty(); }
  std::span<const double> mean() const { return mean_; }
  std::span<const double> scale() const { return scale_; } ///< Factors after the shift.
  double clip() const { return clip_; }

  friend bool operator==(const FrozenNormaliser&, const FrozenNormaliser&) = default;

private:
  friend class boost::serialization::access;
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& mean_& scale_& clip_;
  }

  std::vector<double> mean_;
  std::vector<double> scale_; ///< 1 / sqrt(variance + epsilon).
  double clip_ = 0;
};

/// Normalises observations with the running moments of all observations seen (Huang et
/// al. 2022, continuous control, details 4 and 5).
class ObservationNormaliser {
public:
  ObservationNormaliser() = default;
  explicit ObservationNormaliser(std::size_t size, double clip = 10,
                                 double epsilon = 1e-8)
    : moments_(size), clip_(clip), epsilon_(epsilon) {}

  /// Adds rows to the moments and normalises nothing. `valid` is as in
  /// RunningMoments::add().
  void update(std::span<const float> rows, std::span<const std::uint8_t> valid = {}) {
    moments_.add(rows, valid);
  }
  /// Adds the moments of a worker.
  void merge(const RunningMoments& moments) { moments_.merge(moments); }
  /// Normalises rows in place with the present moments.
  void apply(std::span<float> rows) const { frozen().apply(rows); }
  FrozenNormaliser frozen() const { return {moments_, clip_, epsilon_}; }
  const RunningMoments& moments() const { return moments_; }

  friend bool operator==(const ObservationNormaliser&,
                         const ObservationNormaliser&) = default;

private:
  friend class boost::serialization::access;
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& moments_& clip_& epsilon_;
  }

  RunningMoments moments_;
  double clip_ = 10;
  double epsilon_ = 1e-8;
};

/// Divides rewards by the standard deviation of the discounted return, and clips the
/// result (Huang et al. 2022, continuous control, details 6 and 7). Each environment has
/// its own discounted return, R <- gamma R + r, which begins at 0 in each episode. All
/// share one variance. The mean is not subtracted, because that would change the task.
class RewardNormaliser {
public:
  RewardNormaliser() = default;
  explicit RewardNormaliser(std::size_t envs, double gamma = 0.99, double clip = 10,
                            double epsilon = 1e-8)
    : returns_(envs), moments_(1), gamma_(gamma), clip_(clip), epsilon_(epsilon) {}

  /// Takes one reward for each row: updates the discounted returns, adds them to the
  /// moments, and writes the normalised rewards to `out`, which may be `rewards`. Row i
  /// belongs to environment env_ids[i]. A row that is not valid becomes 0, and its
  /// environment begins a new discounted return. Throws std::invalid_argument for spans
  /// of different sizes and for an unknown environment, and std::domain_error, naming the
  /// environment, for a reward that is not finite.
  void apply(std::span<const double> rewards, std::span<const std::uint8_t> terminated,
             std::span<const std::uint8_t> truncated, std::span<const std::uint8_t> valid,
             std::span<const int> env_ids, std::span<double> out);
  /// All environments begin a new discounted return.
  void end_episodes() { returns_.assign(returns_.size(), 0); }

  const RunningMoments& moments() const { return moments_; }

  friend bool operator==(const RewardNormaliser&, const RewardNormaliser&) = default;

private:
  friend class boost::serialization::access;
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& returns_& moments_& gamma_& clip_& epsilon_;
  }

  std::vector<double> returns_;
  RunningMoments moments_;
  double gamma_ = 0.99;
  double clip_ = 10;
  double epsilon_ = 1e-8;
};

} // namespace fiber::rl
