// SPDX-License-Identifier: Apache-2.0
// Data-parallel training: the members of a ring hold equal models, each computes the
// gradient of its share of a batch, and an allreduce adds the gradients up. ring_ddp.cpp
// trains a LibTorch network the same way.
#include <array>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>
#include <fiber/fiber.hpp>

/// The line y = slope x + offset, and what must not be lost with it.
struct Model {
  int steps = 0; ///< That are done.
  double slope = 0, offset = 0;
  int attempt = 1, first = 0; ///< Of the ring; and the step that it began with.
};

Model train(int steps, bool kill, fiber::RingMember& member) {
  constexpr std::size_t batch = 64;
  auto model = member.checkpoint().load<Model>().value_or(Model());
  model.attempt = member.attempt();
  model.first = model.steps;
  member.barrier(); // All have loaded the same model before one of them saves.
  while (model.steps < steps) {
    std::array<double, 2> gradient = {}; // Of half the squared errors.
    for (auto i = member.rank(); i < batch; i += member.size()) {
      auto example = static_cast<double>(i) + batch * static_cast<double>(model.steps);
      auto x = std::fmod(0.618034 * example, 1);
      auto error = model.slope * x + model.offset - (3 * x + 1);
      gradient[0] += error * x;
      gradient[1] += error;
    }
    member.allreduce(gradient); // Now the sum over all members.
    model.slope -= 0.5 / batch * gradient[0];
    model.offset -= 0.5 / batch * gradient[1];
    if (++model.steps % 10 == 0 && member.rank() == 0)
      member.checkpoint().save(model);
    if (kill && member.rank() == 1 && member.attempt() == 1 && model.steps == steps / 2)
      std::raise(SIGKILL);
  }
  return model;
}

int main(int argc, char** argv) {
  auto session = fiber::init(argc, argv); // In a member, this call never returns.
  std::size_t members = 4;
  int steps = 500;
  bool kill = false;
  std::string checkpoint;
  CLI::App app("Fits the line y = 3 x + 1 by gradient descent on a ring");
  app.add_option("--members", members)->capture_default_str();
  app.add_option("--steps", steps)->capture_default_str();
  app.add_option("--checkpoint", checkpoint, "A file to resume from, and to save to");
  app.add_flag("--kill", kill, "Kill member 1 half-way");
  CLI11_PARSE(app, argc, argv);

  fiber::Ring ring({.size = members, .checkpoint = checkpoint},
                   fiber::bind(train, steps, kill));
  for (auto& model : ring.run())
    std::cout << "attempt " << model.attempt << ", steps " << model.first << " to "
              << model.steps << ": y = " << model.slope << " x + " << model.offset
              << '\n';
}
