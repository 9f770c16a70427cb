// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "rl/policy/layout.hpp"
#include "rl/ppo/perceptron.hpp"
#include "rl/ppo/sequences.hpp"

namespace fiber::rl::ppo {

/// An LSTM that is trained: it runs through whole sequences, and back through time.
/// Matrices have a column for each row of the sequences, in the order of PackedSequences.
class LstmGradient {
public:
  using Matrix = Eigen::MatrixXf;

  /// In the memory of a sequence, the numbers of this LSTM begin at `at`: the output,
  /// then the cell.
  LstmGradient(const LstmPlace& place, std::size_t at) : place_(place), at_(at) {}

  /// The outputs. Keeps what backward() needs.
  const Matrix& forward(std::span<float> parameters,
                        const Eigen::Ref<const Matrix>& inputs,
                        const PackedSequences& sequences);
  /// Writes the gradient, and that of the inputs. `errors`: that of the outputs. The
  /// memory before a sequence counts as a constant.
  void backward(std::span<float> parameters, std::span<float> gradient,
                const Eigen::Ref<const Matrix>& inputs, const Matrix& errors,
                const PackedSequences& sequences, Matrix& input_errors);

private:
  void remember(const PackedSequences& sequences, std::size_t step, Eigen::Index begin,
                Eigen::Index before);

  LstmPlace place_;
  std::size_t at_;
  Matrix gates_;                         ///< 4 units a column, after their activations.
  Matrix outputs_, cells_;               ///< After each row.
  Matrix outputs_before_, cells_before_; ///< Before each row: 0 where an episode begins.
  Matrix sums_;                          ///< The errors of what enters the gates.
  Matrix later_outputs_, later_cells_;   ///< The errors that come from the step after.
};

/// The network of a policy or of its value. A recurrent one has an LSTM before its last
/// layer.
class NetworkGradient {
public:
  using Matrix = Eigen::MatrixXf;

  /// `at`: as for LstmGradient.
  NetworkGradient(const std::vector<LayerPlace>& layers,
                  const std::optional<LstmPlace>& lstm, std::size_t at,
                  Activation activation);

  /// `sequences` are for the LSTM. Keeps what backward() needs.
  const Matrix& forward(std::span<float> parameters,
                        const Eigen::Ref<const Matrix>& inputs,
                        const PackedSequences& sequences);
  /// Writes the gradient, after forward() for the same inputs. `errors`: that of the
  /// outputs.
  void backward(std::span<float> parameters, std::span<float> gradient,
                const Eigen::Ref<const Matrix>& inputs, const Matrix& errors,
                const PackedSequences& sequences);

private:
  Perceptron layers_; ///< All, or those before the LSTM.
  std::optional<LstmGradient> lstm_;
  Perceptron output_;                  ///< The layer after the LSTM.
  const Matrix* features_ = nullptr;   ///< What enters the LSTM, if layers are before it.
  const Matrix* remembered_ = nullptr; ///< What leaves it.
  Matrix lstm_errors_, hidden_errors_;
};

} // namespace fiber::rl::ppo
