// SPDX-License-Identifier: Apache-2.0
// Data-parallel training: the members of a ring hold equal models, each computes the
// gradient of its part of a batch, and an allreduce adds them up. The model is a logistic
// regression, which has a loss that one process alone can check.
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <Eigen/Dense>
#include <boost/serialization/vector.hpp>
#include <fiber/fiber.hpp>

namespace {

constexpr int features = 20, examples = 4096, batch = 256;
constexpr double rate = 0.5;

struct Data {
  Eigen::MatrixXd inputs{examples, features};
  Eigen::VectorXd labels{examples};
};

/// Everybody makes the same: it is small. A real one would be read by parts.
Data make_data() {
  Data data;
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  Eigen::VectorXd truth =
    Eigen::VectorXd::NullaryExpr(features, [&] { return normal(random); });
  data.inputs =
    Eigen::MatrixXd::NullaryExpr(examples, features, [&] { return normal(random); });
  for (int i = 0; i < examples; ++i)
    data.labels[i] = data.inputs.row(i).dot(truth) + normal(random) > 0 ? 1 : 0;
  return data;
}

/// The order of the examples in an epoch.
std::vector<int> order_of(int epoch) {
  std::vector<int> order(examples);
  for (int i = 0; i < examples; ++i)
    order[static_cast<std::size_t>(i)] = i;
  std::mt19937_64 random(static_cast<std::uint64_t>(epoch));
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

/// The gradient of the sum of some examples' losses, and behind it that sum.
std::vector<double> gradient(const Data& data, const Eigen::VectorXd& weights,
                             std::span<const int> some) {
  std::vector<double> result(features + 1);
  Eigen::Map<Eigen::VectorXd> slope(result.data(), features);
  for (auto i : some) {
    auto row = data.inputs.row(i).transpose();
    auto score = row.dot(weights), label = data.labels[i];
    auto likely = 1 / (1 + std::exp(-score));
    slope += (likely - label) * row;
    result.back() +=
      std::log1p(std::exp(-std::abs(score))) + std::max(score, 0.0) - score * label;
  }
  return result;
}

/// What must not be lost.
struct State {
  int epoch = 0; ///< That is done.
  std::vector<double> weights = std::vector<double>(features);
  std::vector<double> losses = {}; ///< Of each epoch.
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& epoch& weights& losses;
  }
};

/// One epoch; `add_up` makes of a member's gradient that of all.
template <class AddUp>
void train_epoch(const Data& data, State& state, std::size_t rank, std::size_t size,
                 AddUp add_up) {
  Eigen::Map<Eigen::VectorXd> weights(state.weights.data(), features);
  auto order = order_of(state.epoch);
  double loss = 0;
  for (std::size_t at = 0; at < examples; at += batch) {
    auto from = at + batch * rank / size, to = at + batch * (rank + 1) / size;
    auto sum = gradient(data, weights, std::span(order).subspan(from, to - from));
    add_up(sum);
    weights -= rate / batch * Eigen::Map<Eigen::VectorXd>(sum.data(), features);
    loss += sum.back();
  }
  state.losses.push_back(loss / examples);
  ++state.epoch;
}

struct Plan {
  int epochs = 20;
  bool kill = false; ///< Rank 1 dies half-way, once.
};

struct Trained {
  State state;
  int attempt = 1, resumed_at = 0;
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& state& attempt& resumed_at;
  }
};

Trained train(Plan plan, fiber::RingMember& member) {
  auto data = make_data();
  auto state = member.checkpoint().load<State>().value_or(State());
  member.barrier(); // All have loaded the same one.
  Trained result{{}, member.attempt(), state.epoch};
  while (state.epoch < plan.epochs) {
    train_epoch(data, state, member.rank(), member.size(),
                [&](std::vector<double>& sum) { member.allreduce(sum); });
    if (member.rank() == 0)
      member.checkpoint().save(state);
    if (plan.kill && member.rank() == 1 && member.attempt() == 1 &&
        state.epoch == plan.epochs / 2)
      std::raise(SIGKILL);
  }
  result.state = state;
  return result;
}

} // namespace

int main(int argc, char** argv) {
  auto session = fiber::init(argc, argv); // In a member, this call never returns.
  std::size_t members = 4;
  Plan plan;
  std::string checkpoint;
  CLI::App app("Data-parallel SGD by a ring, checked against one process");
  app.add_option("--members", members, "How many share the work")->capture_default_str();
  app.add_option("--epochs", plan.epochs, "How often all examples are seen")
    ->capture_default_str();
  app.add_option("--checkpoint", checkpoint, "A file to go on from, and to save to");
  app.add_flag("--kill", plan.kill, "Kill member 1 half-way");
  CLI11_PARSE(app, argc, argv);

  fiber::Ring ring({.size = members, .checkpoint = checkpoint}, fiber::bind(train, plan));
  auto trained = ring.run();

  auto data = make_data();
  State alone;
  while (alone.epoch < trained.front().state.epoch)
    train_epoch(data, alone, 0, 1, [](std::vector<double>&) {});

  auto& first = trained.front();
  std::cout << "epoch  loss\n" << std::fixed << std::setprecision(6);
  for (std::size_t i = 0; i < first.state.losses.size(); i += 5)
    std::cout << std::setw(5) << i + 1 << "  " << first.state.losses[i] << '\n';
  if (first.resumed_at > 0)
    std::cout << "attempt " << first.attempt << " went on from the checkpoint\n";
  double apart = 0;
  for (auto& member : trained)
    for (std::size_t i = 0; i < alone.losses.size(); ++i)
      apart = std::max(apart, std::abs(member.state.losses[i] - alone.losses[i]));
  auto same = apart < 1e-12;
  std::cout << trained.size() << " members: " << first.state.losses.back()
            << ", one process: " << alone.losses.back() << ", "
            << (same ? "equal to rounding" : "DIFFERENT") << '\n';
  return same ? 0 : 1;
}
