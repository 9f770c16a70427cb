// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "fiber/rl/any_vec_env.hpp"

namespace fiber::rl::vec {

/// The options with `batch` and `jobs` as they are used. Throws ConfigError.
VecEnvOptions checked(VecEnvOptions options);
/// Throws ConfigError about VecEnvOptions::step_timeout.
[[noreturn]] void refuse_timeout(const std::string& valid, const std::string& problem);
/// Gives each job as many environments as any other, or one more.
std::vector<detail::HostPlan> spread(const VecEnvOptions& options);

} // namespace fiber::rl::vec
