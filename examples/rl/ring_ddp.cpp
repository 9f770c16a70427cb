// SPDX-License-Identifier: Apache-2.0
// Data-parallel training with LibTorch: the members of a ring hold equal networks, each
// has the gradients of its part of a batch, and an allreduce adds them up: the ring's, or
// with --c10d that of torch's own process group, which the ring brings up.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <exception>
#include <functional>
#include <iomanip>
#include <iostream>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <torch/torch.h>

#include <CLI/CLI.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/vector.hpp>
#include <fiber/fiber.hpp>

namespace {

constexpr std::int64_t examples = 2048, batch = 128, inputs = 4;

struct Data {
  torch::Tensor inputs, targets;
};

/// A smooth function of some numbers. Everybody makes the same; a real one would be read
/// by parts.
Data make_data() {
  torch::manual_seed(1);
  auto x = torch::rand({examples, inputs}, torch::kFloat64) * 4 - 2;
  auto y = torch::sin(x.sum(1, true)) + x.slice(1, 0, 1) * x.slice(1, 1, 2);
  return {x, y};
}

/// What must not be lost, as bytes that torch writes.
struct State {
  int epoch = 0; ///< That is done.
  std::string model = {}, optimizer = {};
  std::vector<double> losses = {}; ///< Of each epoch.
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& epoch& model& optimizer& losses;
  }
};

template <class Module>
std::string saved(const Module& module) {
  std::ostringstream stream;
  torch::save(module, stream);
  return stream.str();
}
template <class Module>
void restore(Module& module, const std::string& bytes) {
  std::istringstream stream(bytes);
  torch::load(module, stream);
}

/// Adds up, over all members, what is in the tensor: contiguous doubles.
using AddUp = std::function<void(torch::Tensor&)>;

class Trainer {
public:
  Trainer() {
    torch::manual_seed(2); // Equal networks everywhere.
    net_ = torch::nn::Sequential(torch::nn::Linear(inputs, 64), torch::nn::Tanh(),
                                 torch::nn::Linear(64, 64), torch::nn::Tanh(),
                                 torch::nn::Linear(64, 1));
    net_->to(torch::kFloat64);
    optimizer_.emplace(net_->parameters(), torch::optim::SGDOptions(0.02).momentum(0.9));
  }

  State state() const { return {epoch_, saved(net_), saved(*optimizer_), losses_}; }
  void go_on_from(const State& state) {
    epoch_ = state.epoch;
    losses_ = state.losses;
    restore(net_, state.model);
    restore(*optimizer_, state.optimizer);
  }
  int epoch() const { return epoch_; }

  void train_epoch(std::size_t rank, std::size_t size, const AddUp& add_up) {
    torch::manual_seed(static_cast<std::uint64_t>(1000 + epoch_));
    auto order = torch::randperm(examples);
    double loss = 0;
    for (std::int64_t at = 0; at < examples; at += batch)
      loss += step(order.slice(0, at, at + batch), static_cast<std::int64_t>(rank),
                   static_cast<std::int64_t>(size), add_up);
    losses_.push_back(loss / examples);
    ++epoch_;
  }

private:
  /// The summed losses of the batch, of which a member computes a part.
  double step(const torch::Tensor& indices, std::int64_t rank, std::int64_t size,
              const AddUp& add_up) {
    auto part = indices.slice(0, batch * rank / size, batch * (rank + 1) / size);
    auto errors = net_->forward(data_.inputs.index_select(0, part)) -
                  data_.targets.index_select(0, part);
    auto loss = errors.square().sum();
    optimizer_->zero_grad();
    (loss / batch).backward();

    // All gradients in one tensor, one behind the other, and last the loss.
    std::vector<torch::Tensor> pieces;
    for (auto& parameter : net_->parameters())
      pieces.push_back(parameter.grad().flatten());
    pieces.push_back(loss.detach().reshape({1}));
    auto flat = torch::cat(pieces);
    add_up(flat);
    std::int64_t begin = 0;
    for (auto& parameter : net_->parameters()) {
      auto& gradient = parameter.mutable_grad();
      auto n = gradient.numel();
      gradient.copy_(flat.slice(0, begin, begin + n).view_as(gradient));
      begin += n;
    }
    optimizer_->step();
    return flat[-1].item<double>();
  }

  const Data data_ = make_data();
  torch::nn::Sequential net_;
  std::optional<torch::optim::SGD> optimizer_;
  int epoch_ = 0;
  std::vector<double> losses_;
};

AddUp by_ring(fiber::RingMember& member) {
  return [&member](torch::Tensor& flat) {
    member.allreduce(
      std::span(flat.data_ptr<double>(), static_cast<std::size_t>(flat.numel())));
  };
}

/// torch's own process group: rank 0 listens on a port that the system chooses, the ring
/// tells the others which, and there all find each other. All are on one machine here;
/// elsewhere rank 0 would tell its address as well. Mind that the store takes connections
/// at every address of the machine, whoever asks.
AddUp by_c10d(fiber::RingMember& member) {
  const std::string host = "127.0.0.1";
  auto first = member.rank() == 0;
  std::array<std::int32_t, 1> port{};
  c10d::TCPStoreOptions where;
  where.isServer = first;
  where.waitWorkers = false; // They do not know the port yet.
  where.port = 0;
  c10::intrusive_ptr<c10d::TCPStore> store;
  if (first) {
    store = c10::make_intrusive<c10d::TCPStore>(host, where);
    port[0] = store->getPort();
  }
  member.broadcast(port, 0);
  if (!first) {
    where.port = static_cast<std::uint16_t>(port[0]);
    store = c10::make_intrusive<c10d::TCPStore>(host, where);
  }
  auto options = c10d::ProcessGroupGloo::Options::create(std::chrono::minutes(5));
  options->devices = {c10d::ProcessGroupGloo::createDeviceForHostname(host)};
  auto group = c10::make_intrusive<c10d::ProcessGroupGloo>(
    store, static_cast<int>(member.rank()), static_cast<int>(member.size()), options);
  return [group, &member](torch::Tensor& flat) {
    std::vector<torch::Tensor> tensors{flat};
    try {
      group->allreduce(tensors)->wait();
    } catch (const std::exception&) {
      member.barrier(); // Throws WorkerLost if it is that: then all begin again.
      throw;
    }
  };
}

struct Plan {
  int epochs = 20;
  bool kill = false; ///< The last rank dies half-way, once.
  bool c10d = false;
};

struct Trained {
  std::vector<double> losses = {};
  int attempt = 1, resumed_at = 0;
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& losses& attempt& resumed_at;
  }
};

Trained train(Plan plan, fiber::RingMember& member) {
  Trainer trainer;
  if (auto state = member.checkpoint().load<State>())
    trainer.go_on_from(*state);
  member.barrier(); // All have loaded the same one.
  Trained result{{}, member.attempt(), trainer.epoch()};
  auto add_up = plan.c10d ? by_c10d(member) : by_ring(member);
  while (trainer.epoch() < plan.epochs) {
    trainer.train_epoch(member.rank(), member.size(), add_up);
    if (member.rank() == 0)
      member.checkpoint().save(trainer.state());
    if (plan.kill && member.rank() + 1 == member.size() && member.attempt() == 1 &&
        trainer.epoch() == plan.epochs / 2)
      std::raise(SIGKILL);
  }
  result.losses = trainer.state().losses;
  return result;
}

std::vector<double> train_alone(std::size_t epochs) {
  torch::set_num_threads(1);
  Trainer trainer;
  for (std::size_t i = 0; i < epochs; ++i)
    trainer.train_epoch(0, 1, [](torch::Tensor&) {});
  return trainer.state().losses;
}

} // namespace

int main(int argc, char** argv) {
  auto session = fiber::init(argc, argv); // In a member, this call never returns.
  std::size_t members = 4;
  Plan plan;
  std::string checkpoint;
  CLI::App app(
    "Data-parallel training of a network by a ring, checked against one process");
  app.add_option("--members", members, "How many share the work")->capture_default_str();
  app.add_option("--epochs", plan.epochs, "How often all examples are seen")
    ->capture_default_str();
  app.add_option("--checkpoint", checkpoint, "A file to continue from, and to save to");
  app.add_flag("--c10d", plan.c10d, "Let torch's own process group add gradients up");
  app.add_flag("--kill", plan.kill, "Kill the last member half-way");
  CLI11_PARSE(app, argc, argv);

  fiber::Ring ring({.size = members, .checkpoint = checkpoint}, fiber::bind(train, plan));
  auto trained = ring.run();
  auto& first = trained.front();
  auto alone = train_alone(first.losses.size());

  std::cout << "epoch  loss\n" << std::fixed << std::setprecision(6);
  for (std::size_t i = 0; i < first.losses.size(); i += 5)
    std::cout << std::setw(5) << i + 1 << "  " << first.losses[i] << '\n';
  if (first.resumed_at > 0)
    std::cout << "attempt " << first.attempt << " went on from the checkpoint\n";
  double apart = 0;
  for (auto& member : trained)
    for (std::size_t i = 0; i < alone.size(); ++i)
      apart = std::max(apart, std::abs(member.losses[i] - alone[i]));
  auto same = apart < 1e-9;
  std::cout << trained.size() << " members: " << first.losses.back()
            << ", one process: " << alone.back() << ", "
            << (same ? "equal to rounding" : "DIFFERENT") << '\n';
  return same ? 0 : 1;
}
