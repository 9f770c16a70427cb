// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include <Eigen/Dense>

#include "fiber/rl/policy.hpp"
#include "fiber/rl/random.hpp"
#include "rl/policy/layout.hpp"

namespace fiber::rl {
namespace {
namespace orthogonal {

using Weights =
  Eigen::Map<Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

// Rows or columns, whichever are fewer, become orthonormal, drawn uniformly (the signs of
// R's diagonal make Q unique), and are multiplied by the gain.
void fill(Weights weights, double gain, Random random) {
  const auto longer = std::max(weights.rows(), weights.cols());
  const auto shorter = std::min(weights.rows(), weights.cols());
  Eigen::MatrixXd drawn(longer, shorter);
  for (Eigen::Index i = 0; i < drawn.size(); ++i)
    drawn.data()[i] = random.normal();
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(drawn);
  Eigen::MatrixXd q = qr.householderQ() * Eigen::MatrixXd::Identity(longer, shorter);
  for (Eigen::Index i = 0; i < shorter; ++i)
    q.col(i) *= std::copysign(gain, qr.matrixQR()(i, i));
  if (weights.rows() == longer)
    weights = q.cast<float>();
  else
    weights = q.transpose().cast<float>();
}

} // namespace orthogonal
} // namespace

std::vector<float> initial_parameters(const PolicySpec& spec, std::uint64_t seed) {
  spec.check();
  const PolicyLayout layout(spec);
  std::vector<float> parameters(layout.size);
  auto fill_at = [&](std::size_t offset, std::size_t rows, std::size_t columns,
                     double gain) {
    orthogonal::fill({parameters.data() + offset, static_cast<Eigen::Index>(rows),
                      static_cast<Eigen::Index>(columns)},
                     gain, Random(seed, {offset}));
  };
  auto fill = [&](const LayerPlace& layer, double gain) {
    fill_at(layer.offset, layer.outputs, layer.inputs, gain);
  };
  for (const auto& convolution : layout.convolutions)
    fill(convolution.layer, std::numbers::sqrt2);
  for (const auto* layers : {&layout.shared, &layout.policy, &layout.value})
    for (const auto& layer : *layers)
      fill(layer, std::numbers::sqrt2);
  fill(layout.policy.back(), 0.01);
  fill(layout.value.back(), 1);
  for (const auto& lstm : {layout.policy_lstm, layout.value_lstm})
    if (lstm) {
      fill_at(lstm->offset, 4 * lstm->units, lstm->inputs, 1);
      fill_at(lstm->memory_weights(), 4 * lstm->units, lstm->units, 1);
    }
  return parameters;
}

} // namespace fiber::rl
