// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "rl/policy/layout.hpp"

namespace fiber::rl {

/// One step of LSTMs, a column for each. `gates` has 4 units a column, in the order of
/// LstmPlace: as sums of weighted inputs and biases before, and activated after. The
/// others have the units. `cell` may be `cell_before`.
void lstm_step(Eigen::Ref<Eigen::MatrixXf> gates,
               const Eigen::Ref<const Eigen::MatrixXf>& cell_before,
               Eigen::Ref<Eigen::MatrixXf> cell, Eigen::Ref<Eigen::MatrixXf> output);

/// The LSTM of a policy's or a value's network, step by step.
class Lstm {
public:
  /// `parameters` must outlive this. In the memory of a row, its numbers begin at `at`:
  /// the output, then the cell.
  Lstm(const std::vector<float>& parameters, const LstmPlace& place, std::size_t at)
    : parameters_(parameters), place_(place), at_(at) {}

  /// Returns the outputs for rows of inputs, until the next call. Only if `remember`, the
  /// memory is changed.
  std::span<const float> step(std::span<const float> input, std::size_t rows,
                              std::span<float> memory, bool remember);

private:
  const std::vector<float>& parameters_;
  LstmPlace place_;
  std::size_t at_;
  Eigen::MatrixXf gates_, cell_, output_; ///< A column for each row.
};

} // namespace fiber::rl
