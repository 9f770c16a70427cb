// SPDX-License-Identifier: Apache-2.0
#include "rl/policy/lstm.hpp"

namespace fiber::rl {
namespace {
namespace lstm_matrices {

using Eigen::Index;
using Weights =
  Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
using Vector = Eigen::Map<const Eigen::VectorXf>;
using Columns = Eigen::Map<Eigen::MatrixXf, 0, Eigen::OuterStride<>>;

Index index(std::size_t size) {
  return static_cast<Index>(size);
}

} // namespace lstm_matrices
} // namespace

void lstm_step(Eigen::Ref<Eigen::MatrixXf> gates,
               const Eigen::Ref<const Eigen::MatrixXf>& cell_before,
               Eigen::Ref<Eigen::MatrixXf> cell, Eigen::Ref<Eigen::MatrixXf> output) {
  const auto units = cell.rows();
  const auto logistic = [&](auto numbers) {
    numbers = (1 + (-numbers.array()).exp()).inverse().matrix();
  };
  logistic(gates.topRows(2 * units));
  logistic(gates.bottomRows(units));
  auto candidate = gates.middleRows(2 * units, units);
  candidate = candidate.array().tanh().matrix();
  cell = gates.middleRows(units, units).cwiseProduct(cell_before) +
         gates.topRows(units).cwiseProduct(candidate);
  output = gates.bottomRows(units).cwiseProduct(cell.array().tanh().matrix());
}

std::span<const float> Lstm::step(std::span<const float> input, std::size_t rows,
                                  std::span<float> memory, bool remember) {
  using namespace lstm_matrices;
  const auto units = index(place_.units), columns = index(rows);
  const auto* numbers = parameters_.data();
  const Eigen::OuterStride<> stride(rows == 0 ? 0 : index(memory.size() / rows));
  Columns output_before(memory.data() + at_, units, columns, stride);
  Columns cell_before(memory.data() + at_ + place_.units, units, columns, stride);
  gates_.noalias() =
    Weights(numbers + place_.offset, 4 * units, index(place_.inputs)) *
    Eigen::Map<const Eigen::MatrixXf>(input.data(), index(place_.inputs), columns);
  gates_.noalias() +=
    Weights(numbers + place_.memory_weights(), 4 * units, units) * output_before;
  gates_.colwise() += Vector(numbers + place_.input_biases(), 4 * units) +
                      Vector(numbers + place_.memory_biases(), 4 * units);
  cell_.resize(units, columns);
  output_.resize(units, columns);
  lstm_step(gates_, cell_before, cell_, output_);
  if (remember) {
    output_before = output_;
    cell_before = cell_;
  }
  return {output_.data(), rows * place_.units};
}

} // namespace fiber::rl
