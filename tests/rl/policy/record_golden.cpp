// SPDX-License-Identifier: Apache-2.0
// Prints the outputs of LibTorch's networks that policy_test.cpp compares with. No part
// of the build; recorded with LibTorch 1.13.1:
//
//   g++ -std=c++20 -O0 -Irl -I. -isystem /usr/include/torch/csrc/api/include
//     tests/rl/policy/record_golden.cpp rl/env/random.cpp
//     -ltorch_cpu -lc10 -o record_golden && ./record_golden

#include <cstdio>

#include <torch/torch.h>

#include "tests/rl/policy/golden.hpp"

namespace {

using torch::nn::Conv2d;
using torch::nn::Conv2dOptions;
using torch::nn::Flatten;
using torch::nn::Linear;
using torch::nn::ReLU;
using torch::nn::Sequential;
using torch::nn::Tanh;

// Registers its parts in the order of PolicySpec::parameter_count().
struct Separate : torch::nn::Module {
  Separate(int actions, bool continuous) {
    if (continuous)
      log_std = register_parameter("log_std", torch::zeros({actions}));
    policy = register_module("policy", Sequential(Linear(5, 16), Tanh(), Linear(16, 8),
                                                  Tanh(), Linear(8, actions)));
    value = register_module(
      "value", Sequential(Linear(5, 16), Tanh(), Linear(16, 8), Tanh(), Linear(8, 1)));
  }
  torch::Tensor log_std;
  Sequential policy{nullptr}, value{nullptr};
};

struct Nature : torch::nn::Module {
  Nature() {
    trunk = register_module("trunk",
                            Sequential(Conv2d(Conv2dOptions(4, 32, 8).stride(4)), ReLU(),
                                       Conv2d(Conv2dOptions(32, 64, 4).stride(2)), ReLU(),
                                       Conv2d(Conv2dOptions(64, 64, 3).stride(1)), ReLU(),
                                       Flatten(), Linear(3136, 512), ReLU()));
    policy = register_module("policy", Sequential(Linear(512, 4)));
    value = register_module("value", Sequential(Linear(512, 1)));
  }
  Sequential trunk{nullptr}, policy{nullptr}, value{nullptr};
};

void fill(torch::nn::Module& module, double bound) {
  torch::NoGradGuard no_gradient;
  std::size_t count = 0;
  for (const auto& parameter : module.parameters())
    count += static_cast<std::size_t>(parameter.numel());
  auto numbers = fiber::rl::golden_numbers(count, 1, bound);
  std::size_t used = 0;
  for (auto& parameter : module.parameters()) {
    parameter.copy_(torch::from_blob(numbers.data() + used, parameter.sizes()));
    used += static_cast<std::size_t>(parameter.numel());
  }
}

void print(const char* name, const torch::Tensor& tensor) {
  std::printf("%s = {", name);
  const auto flat = tensor.contiguous().view({-1});
  for (int64_t i = 0; i < flat.numel(); ++i)
    std::printf("%s%.9g", i == 0 ? "" : ", ", flat[i].item<double>());
  std::printf("};\n");
}

} // namespace

int main() {
  torch::NoGradGuard no_gradient;
  auto rows = fiber::rl::golden_numbers(15, 2, 3);
  const auto observations = torch::from_blob(rows.data(), {3, 5});
  Separate discrete(3, false);
  fill(discrete, 1);
  print("logits", discrete.policy->forward(observations));
  print("values", discrete.value->forward(observations));
  Separate continuous(2, true);
  fill(continuous, 1);
  print("log_std", continuous.log_std);
  print("means", continuous.policy->forward(observations));
  print("continuous values", continuous.value->forward(observations));

  auto pixels = fiber::rl::golden_numbers(2 * 4 * 84 * 84, 3, 255);
  const auto images = torch::from_blob(pixels.data(), {2, 4, 84, 84});
  Nature nature;
  fill(nature, 0.1);
  const auto features = nature.trunk->forward(images / 255);
  print("nature logits", nature.policy->forward(features));
  print("nature values", nature.value->forward(features));
}
