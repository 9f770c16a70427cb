// SPDX-License-Identifier: Apache-2.0
#include "rl/ppo/env_failures.hpp"

#include <algorithm>
#include <stdexcept>

namespace fiber::rl::ppo {

EnvFailures EnvFailures::of(const AnyVecEnv& envs) {
  return {envs.jobs_lost(), envs.hangs(), envs.errors(), envs.first_error()};
}

EnvFailures EnvFailures::since(const EnvFailures& earlier) const {
  return {jobs_lost - earlier.jobs_lost, hangs - earlier.hangs, errors - earlier.errors,
          errors > earlier.errors ? first_error : ""};
}

void EnvFailures::add(const EnvFailures& more) {
  jobs_lost += more.jobs_lost;
  hangs += more.hangs;
  errors += more.errors;
  if (first_error.empty())
    first_error = more.first_error;
}

std::string EnvFailures::describe() const {
  std::string text;
  const auto say = [&](std::size_t count, const char* what) {
    if (count > 0)
      text += (text.empty() ? "" : "; ") + std::to_string(count) + what;
  };
  say(jobs_lost, " jobs were lost and replaced");
  say(hangs, " hangs of environments");
  say(errors, " errors of environments, the first: ");
  return text + first_error;
}

std::size_t keep_valid_rows(std::span<const std::uint8_t> valid,
                            std::initializer_list<std::vector<float>*> columns,
                            std::vector<std::uint8_t>& masks,
                            const EnvFailures& failures) {
  const auto offset = [](std::size_t at) { return static_cast<std::ptrdiff_t>(at); };
  std::size_t kept = 0;
  for (std::size_t row = 0; row < valid.size(); ++row) {
    if (valid[row] == 0)
      continue;
    if (kept < row) {
      const auto move = [&](auto& column) {
        const auto width = column.size() / valid.size();
        std::copy_n(column.begin() + offset(row * width), width,
                    column.begin() + offset(kept * width));
      };
      for (auto* column : columns)
        move(*column);
      move(masks);
    }
    ++kept;
  }
  const auto why = failures.describe();
  if (kept < 2)
    throw std::runtime_error("of the " + std::to_string(valid.size()) +
                             " rows of a rollout " + std::to_string(kept) +
                             " are valid, and learning needs 2" +
                             (why.empty() ? "" : "; ") + why);
  return kept;
}

} // namespace fiber::rl::ppo
