// SPDX-License-Identifier: Apache-2.0
#include "libfiber/session/thread_check.hpp"

#include <future>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "fiber/error.hpp"

namespace fiber::detail {

void check_threads() {
  // CAF's worker and clock, the reactor, the backend's loop, and a thread that waits.
  constexpr int count = 5;
  std::promise<void> all;
  auto done = all.get_future().share();
  std::vector<std::jthread> threads;
  try {
    while (std::ssize(threads) < count)
      threads.emplace_back([done] { done.wait(); });
  } catch (const std::system_error& error) {
    all.set_value();
    throw BackendError(
      "start the session", error.code().value(),
      "cannot start " + std::to_string(count) + " threads: " + error.code().message() +
        "; look at ulimit -u, ulimit -v and the control group's pids.max");
  }
  all.set_value();
}

} // namespace fiber::detail
