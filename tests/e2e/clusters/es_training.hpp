// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "tests/examples/program.hpp"

namespace fiber::e2e {

/// Starts a training of `es_train` that continues to its last iteration, with these
/// settings, each NAME=VALUE. It writes into the folder `out`.
inline std::unique_ptr<Program> start_training(const std::string& es_train,
                                               const std::string& out, int workers,
                                               const std::vector<std::string>& settings) {
  std::vector<std::string> command{"/usr/bin/env"};
  command.insert(command.end(), settings.begin(), settings.end());
  command.insert(command.end(),
                 {es_train, "--env", "cartpole", "--iterations", "60", "--directions",
                  "100", "--episodes", "16", "--learning-rate", "0.0001", "--seed", "5",
                  "--workers", std::to_string(workers), "--out", out});
  return std::make_unique<Program>(command);
}

/// Returns the bytes of the policy that a training has written into the folder `out`;
/// empty if there is none.
inline std::string policy_in(const std::string& out) {
  std::ifstream file(out + "/policy.txt", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace fiber::e2e
