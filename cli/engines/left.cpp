// SPDX-License-Identifier: Apache-2.0
#include "cli/engines/left.hpp"

#include <thread>

#include "fiber/error.hpp"

namespace fiber::cli {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds look_again{200};

std::vector<std::string> remove_left(const Left& left) {
  auto asked = Clock::now(), end = asked + left.end_limit;
  for (auto refusal = left.remove(false);; std::this_thread::sleep_for(look_again)) {
    auto there = left.list();
    auto now = Clock::now();
    if (now >= end && !there.empty() && !refusal.empty())
      throw Error(refusal);
    if (now >= end || there.empty())
      return there;
    if (now - asked < left.ask_again)
      continue;
    asked = now;
    if (auto problem = left.remove(true); !problem.empty())
      refusal = problem;
  }
}

} // namespace fiber::cli
