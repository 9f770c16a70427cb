// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fiber::rl {

/// The strategy parameters of CMA-ES, with the names of Hansen's tutorial
/// (arXiv 1604.00772, table 1).
struct CmaParameters {
  std::size_t dimension = 0;
  std::size_t population = 0;  ///< lambda: candidates in a generation.
  std::size_t parents = 0;     ///< mu: candidates with a positive weight.
  std::vector<double> weights; ///< w_i, of the best candidate first.
  double mu_eff = 0;           ///< Variance effective selection mass of the parents.
  double c_sigma = 0;          ///< Learning rate of the path of the step size.
  double d_sigma = 0;          ///< Damping of the step size.
  double c_c = 0;              ///< Learning rate of the path of the covariance.
  double c_1 = 0;              ///< Learning rate of the rank-one update.
  double c_mu = 0;             ///< Learning rate of the rank-mu update.
  double chi_n = 0;            ///< Approximates E||N(0, I)||.
};

/// The tutorial's default parameters for `dimension` variables. A `population` of 0 means
/// 4 + floor(3 ln dimension). Throws std::invalid_argument for a dimension of 0 and for a
/// population below 4.
CmaParameters cma_parameters(std::size_t dimension, std::size_t population = 0);

/// Everything that changes while a CmaEs runs.
struct CmaState {
  std::uint64_t generation = 0;
  std::vector<double> mean;
  double sigma = 0;               ///< The step size.
  std::vector<double> covariance; ///< C, dimension x dimension, row after row.
  std::vector<double> path_sigma; ///< The evolution path of the step size.
  std::vector<double> path_c;     ///< The evolution path of the covariance.
  double first_sigma = 0;         ///< The step size at the start.
  std::vector<double> best;       ///< The best candidate so far; empty before the first.
  double best_value = 0;          ///< Its value.
  std::vector<double> history;    ///< The best values of recent generations.
  double worst_value = 0;         ///< The worst value of the last generation.

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& generation& mean& sigma& covariance& path_sigma& path_c& first_sigma& best&
      best_value& history& worst_value;
  }
};

/// CMA-ES, the evolution strategy with covariance matrix adaptation (Hansen, arXiv
/// 1604.00772): full covariance matrix, rank-one and rank-mu updates with negative
/// weights, cumulative step-size adaptation. It minimises a function of real variables
/// that may have any scale: only the order of the values counts.
///
///   CmaEs search(start, 0.5, seed);
///   while (!search.stop_reason())
///     search.tell(pool.map(f, search.ask()));
///
/// ask() depends only on the seed and the state, tell() only on the state and the values.
/// So a run does not depend on which worker evaluated what, or when.
///
/// Memory and time of a generation grow with dimension^2 and dimension^3: meant for up to
/// some hundreds of variables.
///
/// Thread safety: none; one thread at a time.
class CmaEs {
public:
  /// Starts at `mean` with the step size `sigma`; the optimum should be within about
  /// 3 * sigma of the mean. `population` as in cma_parameters(). Throws
  /// std::invalid_argument for no variables, values that are not finite, or a sigma that
  /// is not above 0.
  CmaEs(std::vector<double> mean, double sigma, std::uint64_t seed = 1,
        std::size_t population = 0);
  /// Continues from a saved state. Throws std::invalid_argument if its sizes do not fit
  /// together.
  CmaEs(CmaState state, std::uint64_t seed, std::size_t population = 0);
  ~CmaEs();
  CmaEs(CmaEs&&) noexcept;
  CmaEs& operator=(CmaEs&&) noexcept;

  /// The candidates of this generation. The same until tell() is called.
  std::vector<std::vector<double>> ask() const;

  /// Takes the values of ask()'s candidates, in the same order, and updates mean, step
  /// size and covariance. A value of infinity marks the worst candidates. Throws
  /// std::invalid_argument for another number of values, or a NaN.
  void tell(std::span<const double> values);
  /// The same for candidates from elsewhere.
  void tell(const std::vector<std::vector<double>>& candidates,
            std::span<const double> values);

  /// Why further generations are of no use (tutorial, B.3): the values no longer
  /// differ ("the values have converged"), the steps are tiny, the covariance is badly
  /// conditioned, or the search diverges. Nothing while it makes progress.
  std::optional<std::string> stop_reason() const;

  const CmaParameters& parameters() const;
  const CmaState& state() const;
  const std::vector<double>& mean() const { return state().mean; }
  double sigma() const { return state().sigma; }
  std::uint64_t generation() const { return state().generation; }

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace fiber::rl
