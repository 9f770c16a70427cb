// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <boost/serialization/access.hpp>
#include <boost/serialization/vector.hpp>

namespace fiber::rl {

/// Mean and variance of rows of numbers, by component, without keeping the rows.
///
/// Rows are added one after another (Welford 1962), and what several workers have seen is
/// merged (Chan, Golub and LeVeque 1979). Both agree with the two passes of a textbook to
/// about 1e-12. Addition rounds: merge in a fixed order, such as that of environment
/// ids, for a result that repeats to the last bit.
class RunningMoments {
public:
  RunningMoments() = default;
  /// Of rows with `size` components.
  explicit RunningMoments(std::size_t size) : mean_(size), squares_(size) {}

  /// Adds rows of size() numbers, one after another. If `valid` is not empty, it has a
  /// flag a row, and rows with 0 are left out. Throws std::invalid_argument for another
  /// number of numbers or flags, and std::domain_error, naming the row, if a number is
  /// not finite; then no row is added.
  void add(std::span<const float> rows, std::span<const std::uint8_t> valid = {});
  void add(std::span<const double> rows, std::span<const std::uint8_t> valid = {});
  /// Adds all that another has seen. Throws std::invalid_argument for another size.
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

/// Normalises observations with moments that no longer change: (x - mean) /
/// sqrt(variance + epsilon), limited to -clip and clip. What evaluation and the actors
/// use; cheap to send.
class FrozenNormaliser {
public:
  /// Changes nothing, whatever the size.
  FrozenNormaliser() = default;
  FrozenNormaliser(const RunningMoments& moments, double clip, double epsilon);
  /// From what mean(), scale() and clip() of another have said. Throws
  /// std::invalid_argument if there are more of one than of the other.
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

/// Normalises observations by the moments of all that were seen (Huang et al. 2022,
/// continuous control, details 4 and 5).
class ObservationNormaliser {
public:
  ObservationNormaliser() = default;
  explicit ObservationNormaliser(std::size_t size, double clip = 10,
                                 double epsilon = 1e-8)
    : moments_(size), clip_(clip), epsilon_(epsilon) {}

  /// Learns from rows and normalises nothing; `valid` as in RunningMoments::add().
  void update(std::span<const float> rows, std::span<const std::uint8_t> valid = {}) {
    moments_.add(rows, valid);
  }
  /// Learns from what a worker has seen.
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

/// Divides rewards by the standard deviation of the discounted return, and limits the
/// result (Huang et al. 2022, continuous control, details 6 and 7). Each environment has
/// its own discounted return, R <- gamma R + r, from 0 at each new episode; all share one
/// variance. The mean is not subtracted: that would change what the agent is asked to do.
class RewardNormaliser {
public:
  RewardNormaliser() = default;
  explicit RewardNormaliser(std::size_t envs, double gamma = 0.99, double clip = 10,
                            double epsilon = 1e-8)
    : returns_(envs), moments_(1), gamma_(gamma), clip_(clip), epsilon_(epsilon) {}

  /// Learns from one reward a row and writes the normalised ones to `out`, which may be
  /// `rewards`. Row i is of environment env_ids[i]. A row that is not valid becomes 0 and
  /// begins a new episode. Throws std::invalid_argument for spans of different sizes and
  /// for an environment that there is not, and std::domain_error, naming the environment,
  /// for a reward that is not finite.
  void apply(std::span<const double> rewards, std::span<const std::uint8_t> terminated,
             std::span<const std::uint8_t> truncated, std::span<const std::uint8_t> valid,
             std::span<const int> env_ids, std::span<double> out);

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
