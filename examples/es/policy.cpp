// SPDX-License-Identifier: Apache-2.0
#include "es/policy.hpp"

#include <cmath>
#include <stdexcept>

#include "es/random.hpp"

namespace es {
namespace {

std::size_t last_layer_inputs(const PolicyShape& shape) {
  return shape.hidden > 0 ? shape.hidden : shape.observations;
}

// Takes numbers off the front of the parameters.
template <class Matrix>
void fill(Matrix& matrix, std::span<const float>& parameters) {
  const auto count = static_cast<std::size_t>(matrix.size());
  for (std::size_t i = 0; i < count; ++i)
    matrix.data()[i] = parameters[i];
  parameters = parameters.subspan(count);
}

Eigen::Index index(std::size_t size) {
  return static_cast<Eigen::Index>(size);
}

} // namespace

std::size_t PolicyShape::parameter_count() const {
  const auto first = hidden * (observations + 1);
  return first + actions * (last_layer_inputs(*this) + 1);
}

Policy::Policy(PolicyShape shape, std::span<const float> parameters)
  : hidden_weights_(index(shape.hidden),
                    index(shape.hidden > 0 ? shape.observations : 0)),
    hidden_biases_(index(shape.hidden)),
    output_weights_(index(shape.actions), index(last_layer_inputs(shape))),
    output_biases_(index(shape.actions)), input_(index(shape.observations)),
    hidden_(index(shape.hidden)), output_(index(shape.actions)) {
  if (parameters.size() != shape.parameter_count())
    throw std::invalid_argument("a policy of another shape: wrong number of parameters");
  fill(hidden_weights_, parameters);
  fill(hidden_biases_, parameters);
  fill(output_weights_, parameters);
  fill(output_biases_, parameters);
}

std::span<const float> Policy::act(std::span<const float> observation) {
  for (std::size_t i = 0; i < observation.size(); ++i)
    input_[index(i)] = observation[i];
  output_ = output_biases_;
  if (hidden_.size() > 0) {
    hidden_ = hidden_biases_;
    hidden_.noalias() += hidden_weights_ * input_;
    hidden_ = hidden_.array().tanh().matrix();
    output_.noalias() += output_weights_ * hidden_;
  } else if (input_.size() > 0) {
    output_.noalias() += output_weights_ * input_;
  }
  return {output_.data(), static_cast<std::size_t>(output_.size())};
}

std::vector<float> initial_parameters(PolicyShape shape, std::uint64_t seed) {
  Random random(seed, Use::initial_parameters);
  std::vector<float> parameters;
  parameters.reserve(shape.parameter_count());
  auto layer = [&](std::size_t inputs, std::size_t outputs, double scale) {
    for (std::size_t i = 0; i < inputs * outputs; ++i) {
      const auto spread = scale / std::sqrt(static_cast<double>(inputs));
      parameters.push_back(static_cast<float>(spread * random.normal()));
    }
    parameters.insert(parameters.end(), outputs, 0.0f);
  };
  if (shape.hidden > 0)
    layer(shape.observations, shape.hidden, 1.0);
  // Outputs near 0 at first: the search, not the draw, decides what the agent does.
  layer(last_layer_inputs(shape), shape.actions, 0.01);
  return parameters;
}

} // namespace es
