// SPDX-License-Identifier: Apache-2.0
#include "rl/ppo/lstm_gradient.hpp"

#include "rl/policy/lstm.hpp"

namespace fiber::rl::ppo {
namespace {
namespace lstm_columns {

using Eigen::Index;

Index index(std::size_t size) {
  return static_cast<Index>(size);
}

LayerWeights input_weights(std::span<float> all, const LstmPlace& place) {
  return {all.data() + place.offset, index(4 * place.units), index(place.inputs)};
}

LayerWeights memory_weights(std::span<float> all, const LstmPlace& place) {
  return {all.data() + place.memory_weights(), index(4 * place.units),
          index(place.units)};
}

LayerBiases input_biases(std::span<float> all, const LstmPlace& place) {
  return {all.data() + place.input_biases(), index(4 * place.units)};
}

LayerBiases memory_biases(std::span<float> all, const LstmPlace& place) {
  return {all.data() + place.memory_biases(), index(4 * place.units)};
}

} // namespace lstm_columns
} // namespace

/// Writes the memory that precedes each row of a step into outputs_before_ and
/// cells_before_. The rows of this step begin at column `begin`, those of the previous
/// step at `before`.
void LstmGradient::remember(const PackedSequences& sequences, std::size_t step,
                            Eigen::Index begin, Eigen::Index before) {
  using namespace lstm_columns;
  const auto units = index(place_.units), count = index(sequences.steps[step]);
  auto output = outputs_before_.middleCols(begin, count);
  auto cell = cells_before_.middleCols(begin, count);
  if (step == 0) {
    const Eigen::Map<const Matrix> memory(sequences.memory.data(),
                                          index(sequences.memory_size), count);
    output = memory.middleRows(index(at_), units);
    cell = memory.middleRows(index(at_) + units, units);
  } else {
    output = outputs_.middleCols(before, count);
    cell = cells_.middleCols(before, count);
  }
  for (Index i = 0; i < count; ++i)
    if (sequences.begins[static_cast<std::size_t>(begin + i)] == 1) {
      output.col(i).setZero();
      cell.col(i).setZero();
    }
}

const LstmGradient::Matrix& LstmGradient::forward(std::span<float> parameters,
                                                  const Eigen::Ref<const Matrix>& inputs,
                                                  const PackedSequences& sequences) {
  using namespace lstm_columns;
  const auto units = index(place_.units), rows = inputs.cols();
  for (auto* each : {&outputs_, &cells_, &outputs_before_, &cells_before_})
    each->resize(units, rows);
  gates_.noalias() = input_weights(parameters, place_) * inputs;
  gates_.colwise() +=
    input_biases(parameters, place_) + memory_biases(parameters, place_);
  Index begin = 0, before = 0;
  for (std::size_t step = 0; step < sequences.steps.size(); ++step) {
    const auto count = index(sequences.steps[step]);
    remember(sequences, step, begin, before);
    gates_.middleCols(begin, count).noalias() +=
      memory_weights(parameters, place_) * outputs_before_.middleCols(begin, count);
    lstm_step(gates_.middleCols(begin, count), cells_before_.middleCols(begin, count),
              cells_.middleCols(begin, count), outputs_.middleCols(begin, count));
    before = begin;
    begin += count;
  }
  return outputs_;
}

void LstmGradient::backward(std::span<float> parameters, std::span<float> gradient,
                            const Eigen::Ref<const Matrix>& inputs, const Matrix& errors,
                            const PackedSequences& sequences, Matrix& input_errors) {
  using namespace lstm_columns;
  const auto units = index(place_.units);
  sums_.resize(4 * units, errors.cols());
  later_outputs_.setZero(units, index(sequences.steps.empty() ? 0 : sequences.steps[0]));
  later_cells_.setZero(units, later_outputs_.cols());
  auto begin = errors.cols();
  for (auto step = sequences.steps.size(); step-- > 0;) {
    const auto count = index(sequences.steps[step]);
    begin -= count;
    const auto gate = [&](Index i) {
      return gates_.block(i * units, begin, units, count).array();
    };
    const auto sum = [&](Index i) {
      return sums_.block(i * units, begin, units, count).array();
    };
    const auto input = gate(0), forget = gate(1), candidate = gate(2), output = gate(3);
    auto of_output = later_outputs_.leftCols(count).array();
    auto of_cell = later_cells_.leftCols(count).array();
    of_output += errors.middleCols(begin, count).array();
    const Eigen::ArrayXXf shown = cells_.middleCols(begin, count).array().tanh();
    of_cell += of_output * output * (1 - shown.square());
    sum(0) = of_cell * candidate * input * (1 - input);
    sum(1) =
      of_cell * cells_before_.middleCols(begin, count).array() * forget * (1 - forget);
    sum(2) = of_cell * input * (1 - candidate.square());
    sum(3) = of_output * shown * output * (1 - output);
    of_cell *= forget;
    later_outputs_.leftCols(count).noalias() =
      memory_weights(parameters, place_).transpose() * sums_.middleCols(begin, count);
    for (Index i = 0; i < count; ++i)
      if (sequences.begins[static_cast<std::size_t>(begin + i)] == 1) {
        later_outputs_.col(i).setZero();
        later_cells_.col(i).setZero();
      }
  }
  input_weights(gradient, place_).noalias() = sums_ * inputs.transpose();
  memory_weights(gradient, place_).noalias() = sums_ * outputs_before_.transpose();
  input_biases(gradient, place_) = sums_.rowwise().sum();
  memory_biases(gradient, place_) = input_biases(gradient, place_);
  input_errors.noalias() = input_weights(parameters, place_).transpose() * sums_;
}

NetworkGradient::NetworkGradient(const std::vector<LayerPlace>& layers,
                                 const std::optional<LstmPlace>& lstm, std::size_t at,
                                 Activation activation)
  : layers_(lstm ? std::vector(layers.begin(), layers.end() - 1) : layers, activation,
            lstm.has_value()),
    output_({layers.back()}, activation) {
  if (lstm)
    lstm_.emplace(*lstm, at);
}

const NetworkGradient::Matrix&
NetworkGradient::forward(std::span<float> parameters,
                         const Eigen::Ref<const Matrix>& inputs,
                         const PackedSequences& sequences) {
  if (!lstm_)
    return layers_.forward(parameters, inputs);
  if (layers_.empty()) {
    remembered_ = &lstm_->forward(parameters, inputs, sequences);
  } else {
    features_ = &layers_.forward(parameters, inputs);
    remembered_ = &lstm_->forward(parameters, *features_, sequences);
  }
  return output_.forward(parameters, *remembered_);
}

void NetworkGradient::backward(std::span<float> parameters, std::span<float> gradient,
                               const Eigen::Ref<const Matrix>& inputs,
                               const Matrix& errors, const PackedSequences& sequences) {
  if (!lstm_) {
    layers_.backward(parameters, gradient, inputs, errors);
    return;
  }
  output_.backward(parameters, gradient, *remembered_, errors, &lstm_errors_);
  if (layers_.empty()) {
    lstm_->backward(parameters, gradient, inputs, lstm_errors_, sequences,
                    hidden_errors_);
    return;
  }
  lstm_->backward(parameters, gradient, *features_, lstm_errors_, sequences,
                  hidden_errors_);
  layers_.backward(parameters, gradient, inputs, hidden_errors_);
}

} // namespace fiber::rl::ppo
