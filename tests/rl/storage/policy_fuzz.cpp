// SPDX-License-Identifier: Apache-2.0
// The bytes should be the content of a policy's file, as people download them. What is
// no policy is refused; what is one acts.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "fiber/rl/checkpoint_file.hpp"
#include "fiber/rl/environments.hpp"
#include "fiber/rl/saved_policy.hpp"
#include "tests/fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fiber::rl;
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  try {
    const auto policy = detail::policy_in("input", content);
    const Policy network(policy.spec, policy.parameters);
    ++fiber::fuzz::taken;
  } catch (const std::runtime_error&) { // The promise of load_policy().
  }
  return 0;
}

std::vector<std::string> fiber::fuzz::seeds() {
  std::vector<std::string> all;
  for (const auto* name : {"cartpole", "pendulum"}) {
    rl::SavedPolicy policy{
      .environment = name,
      .spec = {.spaces = rl::make_environment(name)->spaces(), .hidden = {3}}};
    policy.parameters.resize(policy.spec.parameter_count());
    all.push_back(rl::detail::content_of(policy));
  }
  return all;
}
