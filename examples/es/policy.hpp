// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <Eigen/Core>

namespace es {

/// The size of a policy's network.
struct PolicyShape {
  std::size_t observations = 0;
  std::size_t hidden = 0; ///< tanh units; 0: the outputs are linear in the observations.
  std::size_t actions = 0;

  std::size_t parameter_count() const;

  friend bool operator==(const PolicyShape&, const PolicyShape&) = default;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& observations& hidden& actions;
  }
};

/// A network with at most one hidden layer: tanh inside, linear outputs.
class Policy {
public:
  /// Takes the parameters in the order hidden weights (column by column), hidden biases,
  /// output weights, output biases. Throws std::invalid_argument unless there are
  /// shape.parameter_count() of them.
  Policy(PolicyShape shape, std::span<const float> parameters);

  /// The outputs for what is seen; valid until the next call.
  std::span<const float> act(std::span<const float> observation);

private:
  // Own, aligned copies: the order of Eigen's sums, and so the last bit of the outputs,
  // then can't depend on where the caller's vector happens to lie.
  Eigen::MatrixXf hidden_weights_;
  Eigen::VectorXf hidden_biases_;
  Eigen::MatrixXf output_weights_;
  Eigen::VectorXf output_biases_;
  Eigen::VectorXf input_;
  Eigen::VectorXf hidden_;
  Eigen::VectorXf output_;
};

/// Small random weights, biases of 0.
std::vector<float> initial_parameters(PolicyShape shape, std::uint64_t seed);

} // namespace es
