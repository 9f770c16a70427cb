// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/cma_es.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include <Eigen/Dense>

#include "fiber/rl/random.hpp"

namespace fiber::rl {
namespace {
namespace cma {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// The first part of the key of a candidate's random numbers.
constexpr std::uint64_t candidate_key = 0x636d61;

// Limits of the stop criteria, as in the tutorial (B.3).
constexpr double min_spread = 1e-12;    // Of values; of steps, as a part of the first.
constexpr double max_condition = 1e14;  // Of the covariance matrix.
constexpr double max_growth = 1e4;      // Of the longest axis of the distribution.
constexpr double min_eigenvalue = 1e-8; // Stands in for one that rounding made negative.

bool finite(std::span<const double> values) {
  return std::ranges::all_of(values, [](double each) { return std::isfinite(each); });
}

Eigen::Map<const VectorXd> vector(const std::vector<double>& values) {
  return {values.data(), static_cast<Index>(values.size())};
}
Eigen::Map<VectorXd> vector(std::vector<double>& values) {
  return {values.data(), static_cast<Index>(values.size())};
}

double square(double x) {
  return x * x;
}

double sum(const std::vector<double>& values, std::size_t begin, std::size_t end) {
  return std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(begin),
                         values.begin() + static_cast<std::ptrdiff_t>(end), 0.0);
}

/// (sum w)^2 / sum w^2 over some of the weights.
double selection_mass(const std::vector<double>& weights, std::size_t begin,
                      std::size_t end) {
  double squares = 0;
  for (auto i = begin; i < end; ++i)
    squares += square(weights[i]);
  return square(sum(weights, begin, end)) / squares;
}

/// Generations over which the best values must not differ (B.3, TolFun).
std::size_t history_length(const CmaParameters& p) {
  return 10 + static_cast<std::size_t>(std::ceil(30.0 * static_cast<double>(p.dimension) /
                                                 static_cast<double>(p.population)));
}

/// The scaling of the weights to sums of 1 and of at least -1 (equations 49 to 53).
void scale_weights(CmaParameters& p, double mu_eff_minus) {
  const auto n = static_cast<double>(p.dimension);
  const double least =
    std::min({1 + p.c_1 / p.c_mu, 1 + 2 * mu_eff_minus / (p.mu_eff + 2),
              (1 - p.c_1 - p.c_mu) / (n * p.c_mu)});
  double above = 0, below = 0;
  for (double weight : p.weights)
    (weight >= 0 ? above : below) += std::abs(weight);
  for (double& weight : p.weights)
    weight *= weight >= 0 ? 1 / above : least / below;
}

CmaState first_state(std::vector<double> mean, double sigma) {
  const auto n = mean.size();
  CmaState state;
  state.mean = std::move(mean);
  state.sigma = state.first_sigma = sigma;
  state.covariance.resize(n * n);
  for (std::size_t i = 0; i < n; ++i)
    state.covariance[i * n + i] = 1;
  state.path_sigma.resize(n);
  state.path_c.resize(n);
  return state;
}

void check(const CmaState& state) {
  const auto n = state.mean.size();
  if (n == 0)
    throw std::invalid_argument("CMA-ES needs at least one variable");
  if (!finite(state.mean))
    throw std::invalid_argument("the mean to start from must be finite");
  if (!(state.sigma > 0) || !std::isfinite(state.sigma))
    throw std::invalid_argument("the step size of CMA-ES must be above 0 and finite");
  if (state.covariance.size() != n * n || state.path_sigma.size() != n ||
      state.path_c.size() != n)
    throw std::invalid_argument("a state of CMA-ES of " + std::to_string(n) +
                                " variables has matrices or paths of other sizes");
}

} // namespace cma
} // namespace

CmaParameters cma_parameters(std::size_t dimension, std::size_t population) {
  if (dimension == 0)
    throw std::invalid_argument("CMA-ES needs at least one variable");
  const auto n = static_cast<double>(dimension);
  CmaParameters p;
  p.dimension = dimension;
  p.population =
    population > 0 ? population : 4 + static_cast<std::size_t>(3 * std::log(n));
  if (p.population < 4)
    throw std::invalid_argument("CMA-ES needs a population of at least 4, not " +
                                std::to_string(p.population));
  p.parents = p.population / 2;
  const auto lambda = static_cast<double>(p.population);
  for (std::size_t i = 1; i <= p.population; ++i)
    p.weights.push_back(std::log((lambda + 1) / 2) - std::log(static_cast<double>(i)));
  p.mu_eff = cma::selection_mass(p.weights, 0, p.parents);
  p.c_sigma = (p.mu_eff + 2) / (n + p.mu_eff + 5);
  p.d_sigma = 1 + 2 * std::max(0.0, std::sqrt((p.mu_eff - 1) / (n + 1)) - 1) + p.c_sigma;
  p.c_c = (4 + p.mu_eff / n) / (n + 4 + 2 * p.mu_eff / n);
  p.c_1 = 2 / (cma::square(n + 1.3) + p.mu_eff);
  // At most so much that a little of the old covariance remains.
  p.c_mu = std::min(1 - p.c_1 - 1e-8,
                    2 * (p.mu_eff - 2 + 1 / p.mu_eff) / (cma::square(n + 2) + p.mu_eff));
  p.chi_n = std::sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));
  cma::scale_weights(p, cma::selection_mass(p.weights, p.parents, p.population));
  return p;
}

struct CmaEs::Impl {
  Impl(CmaState from, std::uint64_t s, std::size_t population)
    : state(std::move(from)), seed(s) {
    cma::check(state);
    parameters = cma_parameters(state.mean.size(), population);
    decompose();
  }

  /// C = B D^2 B^T.
  void decompose() {
    const auto n = static_cast<cma::Index>(state.mean.size());
    const Eigen::Map<const cma::Rows> covariance(state.covariance.data(), n, n);
    const Eigen::SelfAdjointEigenSolver<cma::MatrixXd> solver(covariance);
    axes = solver.eigenvectors();
    lengths = solver.eigenvalues();
    for (auto& value : lengths)
      value = std::sqrt(value < 0 ? cma::min_eigenvalue : value);
  }

  /// C^(-1/2) times the vector.
  cma::VectorXd whitened(const cma::VectorXd& y) const {
    return axes * (axes.transpose() * y).cwiseQuotient(lengths);
  }

  /// `steps`: (x - mean) / sigma, a column each, the best first.
  void update(const cma::MatrixXd& steps);
  /// `order`: of the values, the best first.
  void remember(const std::vector<std::vector<double>>& candidates,
                std::span<const double> values, const std::vector<std::size_t>& order);

  CmaState state;
  std::uint64_t seed;
  CmaParameters parameters;
  cma::MatrixXd axes;    ///< B: an eigenvector a column.
  cma::VectorXd lengths; ///< The diagonal of D.
};

void CmaEs::Impl::update(const cma::MatrixXd& steps) {
  const auto& p = parameters;
  const auto n = static_cast<double>(p.dimension);
  const auto weights = cma::vector(std::as_const(p.weights));
  const auto mu = static_cast<cma::Index>(p.parents);

  const cma::VectorXd move = steps.leftCols(mu) * weights.head(mu);
  auto mean = cma::vector(state.mean);
  mean += state.sigma * move;

  auto path_sigma = cma::vector(state.path_sigma);
  path_sigma = (1 - p.c_sigma) * path_sigma +
               std::sqrt(p.c_sigma * (2 - p.c_sigma) * p.mu_eff) * whitened(move);
  const double length = path_sigma.norm();
  state.sigma *= std::exp(p.c_sigma / p.d_sigma * (length / p.chi_n - 1));

  // The path of the covariance stalls while that of the step size is long.
  // (Figure 6 of the tutorial: 2 (g + 1), where g counts generations from 1.)
  const auto updates = 2 * static_cast<double>(state.generation + 2);
  const bool short_enough = length / std::sqrt(1 - std::pow(1 - p.c_sigma, updates)) <
                            (1.4 + 2 / (n + 1)) * p.chi_n;
  auto path_c = cma::vector(state.path_c);
  path_c *= 1 - p.c_c;
  if (short_enough)
    path_c += std::sqrt(p.c_c * (2 - p.c_c) * p.mu_eff) * move;
  const double lacking = short_enough ? 0 : p.c_c * (2 - p.c_c);

  const auto size = static_cast<cma::Index>(p.dimension);
  Eigen::Map<cma::Rows> covariance(state.covariance.data(), size, size);
  covariance *= 1 + p.c_1 * lacking - p.c_1 - p.c_mu * weights.sum();
  covariance += p.c_1 * path_c * path_c.transpose();
  for (cma::Index i = 0; i < steps.cols(); ++i) {
    double weight = weights[i];
    if (weight < 0) // So that the matrix stays positive definite.
      weight *= n / (whitened(steps.col(i)).squaredNorm() + 1e-8);
    covariance += p.c_mu * weight * steps.col(i) * steps.col(i).transpose();
  }
  covariance = (0.5 * (covariance + covariance.transpose())).eval();
  ++state.generation;
}

void CmaEs::Impl::remember(const std::vector<std::vector<double>>& candidates,
                           std::span<const double> values,
                           const std::vector<std::size_t>& order) {
  const auto best = order.front();
  state.worst_value = values[order.back()];
  if (state.best.empty() || values[best] < state.best_value) {
    state.best = candidates[best];
    state.best_value = values[best];
  }
  state.history.push_back(values[best]);
  if (state.history.size() > cma::history_length(parameters))
    state.history.erase(state.history.begin());
}

CmaEs::CmaEs(std::vector<double> mean, double sigma, std::uint64_t seed,
             std::size_t population)
  : CmaEs(cma::first_state(std::move(mean), sigma), seed, population) {}

CmaEs::CmaEs(CmaState state, std::uint64_t seed, std::size_t population)
  : impl_(std::make_unique<Impl>(std::move(state), seed, population)) {}

CmaEs::~CmaEs() = default;
CmaEs::CmaEs(CmaEs&&) noexcept = default;
CmaEs& CmaEs::operator=(CmaEs&&) noexcept = default;

std::vector<std::vector<double>> CmaEs::ask() const {
  const auto n = impl_->parameters.dimension;
  std::vector<std::vector<double>> candidates;
  candidates.reserve(impl_->parameters.population);
  for (std::size_t i = 0; i < impl_->parameters.population; ++i) {
    Random random(impl_->seed, {cma::candidate_key, generation(), i});
    cma::VectorXd drawn(static_cast<cma::Index>(n));
    for (auto& value : drawn)
      value = random.normal();
    const cma::VectorXd x =
      cma::vector(mean()) + sigma() * (impl_->axes * impl_->lengths.cwiseProduct(drawn));
    candidates.emplace_back(x.begin(), x.end());
  }
  return candidates;
}

void CmaEs::tell(std::span<const double> values) {
  tell(ask(), values);
}

void CmaEs::tell(const std::vector<std::vector<double>>& candidates,
                 std::span<const double> values) {
  const auto& p = impl_->parameters;
  if (values.size() != p.population || candidates.size() != p.population)
    throw std::invalid_argument("CMA-ES needs one value for each of " +
                                std::to_string(p.population) + " candidates, not " +
                                std::to_string(values.size()));
  if (std::ranges::any_of(values, [](double each) { return std::isnan(each); }))
    throw std::invalid_argument("a value of the function is not a number (NaN)");
  std::vector<std::size_t> order(p.population);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
  cma::MatrixXd steps(static_cast<cma::Index>(p.dimension),
                      static_cast<cma::Index>(p.population));
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& candidate = candidates[order[i]];
    if (candidate.size() != p.dimension || !cma::finite(candidate))
      throw std::invalid_argument("a candidate of CMA-ES must have " +
                                  std::to_string(p.dimension) + " finite numbers");
    steps.col(static_cast<cma::Index>(i)) =
      (cma::vector(candidate) - cma::vector(mean())) / sigma();
  }
  impl_->remember(candidates, values, order);
  impl_->update(steps);
  impl_->decompose();
}

std::optional<std::string> CmaEs::stop_reason() const {
  const auto& state = impl_->state;
  if (state.generation == 0)
    return {};
  const auto& lengths = impl_->lengths;
  const double longest = lengths.maxCoeff(), shortest = lengths.minCoeff();
  if (!std::isfinite(sigma()) || sigma() * longest > state.first_sigma * cma::max_growth)
    return "the search diverges: the first step size was too small";
  if (cma::square(longest / shortest) > cma::max_condition)
    return "the covariance matrix is badly conditioned";
  const auto [least, most] = std::ranges::minmax(state.history);
  if (state.history.size() == cma::history_length(impl_->parameters) &&
      std::max(most, state.worst_value) - least < cma::min_spread)
    return "the values have converged";
  const double tiny = cma::min_spread * state.first_sigma;
  if (sigma() * longest < tiny &&
      sigma() * cma::vector(state.path_c).cwiseAbs().maxCoeff() < tiny)
    return "the steps are tiny";
  return {};
}

const CmaParameters& CmaEs::parameters() const {
  return impl_->parameters;
}

const CmaState& CmaEs::state() const {
  return impl_->state;
}

} // namespace fiber::rl
