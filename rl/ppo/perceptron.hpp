// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "rl/policy/layout.hpp"

namespace fiber::rl::ppo {

/// The weights of a layer, and its biases, in a flat vector of parameters or of their
/// gradient.
using LayerWeights =
  Eigen::Map<Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
using LayerBiases = Eigen::Map<Eigen::VectorXf>;

/// A multi-layer perceptron: its layers are parts of flat parameters. Matrices have a
/// column for each sample.
class Perceptron {
public:
  using Matrix = Eigen::MatrixXf;

  /// The activation follows each layer, the last one only if `activate_last`.
  Perceptron(std::vector<LayerPlace> layers, Activation activation,
             bool activate_last = false)
    : layers_(std::move(layers)), activation_(activation), activate_last_(activate_last),
      outputs_(layers_.size()) {}

  bool empty() const { return layers_.empty(); }

  /// The outputs of the last layer. Keeps what each layer gave, for backward().
  const Matrix& forward(std::span<float> parameters,
                        const Eigen::Ref<const Matrix>& inputs) {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      auto& out = outputs_[i];
      out.resize(index(layers_[i].outputs), inputs.cols());
      if (i == 0)
        out.noalias() = weights(parameters, i) * inputs;
      else
        out.noalias() = weights(parameters, i) * outputs_[i - 1];
      out.colwise() += biases(parameters, i);
      if (activate_last_ || i + 1 < layers_.size())
        activate(out);
    }
    return outputs_.back();
  }

  /// Writes the gradient of each layer, and into `input_errors` that of the inputs.
  /// `errors`: that of the outputs.
  void backward(std::span<float> parameters, std::span<float> gradient,
                const Eigen::Ref<const Matrix>& inputs, const Matrix& errors,
                Matrix* input_errors = nullptr) {
    auto* of_outputs = &errors;
    if (activate_last_) {
      auto& next = errors_[layers_.size() % 2];
      next = errors;
      through_activation(outputs_.back(), next);
      of_outputs = &next;
    }
    for (auto i = layers_.size(); i-- > 0;) {
      if (i == 0)
        weights(gradient, i).noalias() = *of_outputs * inputs.transpose();
      else
        weights(gradient, i).noalias() = *of_outputs * outputs_[i - 1].transpose();
      biases(gradient, i) = of_outputs->rowwise().sum();
      if (i == 0) {
        if (input_errors != nullptr)
          input_errors->noalias() = weights(parameters, i).transpose() * *of_outputs;
        return;
      }
      auto& next = errors_[i % 2];
      next.noalias() = weights(parameters, i).transpose() * *of_outputs;
      through_activation(outputs_[i - 1], next);
      of_outputs = &next;
    }
  }

private:
  static Eigen::Index index(std::size_t size) { return static_cast<Eigen::Index>(size); }
  LayerWeights weights(std::span<float> all, std::size_t i) const {
    return {all.data() + layers_[i].offset, index(layers_[i].outputs),
            index(layers_[i].inputs)};
  }
  LayerBiases biases(std::span<float> all, std::size_t i) const {
    return {all.data() + layers_[i].biases(), index(layers_[i].outputs)};
  }
  void activate(Matrix& numbers) const {
    if (activation_ == Activation::tanh)
      numbers = numbers.array().tanh();
    else
      numbers = 0.5F * (numbers.array() + numbers.array().abs()); // Keeps a NaN.
  }
  /// `given`: what the activation gave.
  void through_activation(const Matrix& given, Matrix& errors) const {
    if (activation_ == Activation::tanh)
      errors.array() *= 1 - given.array().square();
    else
      errors.array() *= (given.array() > 0).cast<float>();
  }

  std::vector<LayerPlace> layers_;
  Activation activation_;
  bool activate_last_;
  std::vector<Matrix> outputs_;
  Matrix errors_[2];
};

} // namespace fiber::rl::ppo
