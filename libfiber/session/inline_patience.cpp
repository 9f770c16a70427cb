// SPDX-License-Identifier: Apache-2.0
#include "libfiber/session/inline_patience.hpp"

#include "actors/core/task_context.hpp"
#include "fiber/error.hpp"

namespace fiber::detail {
namespace {

/// A task that waits this long with nothing to run is taken to be deadlocked.
constexpr std::chrono::seconds limit{2};

} // namespace

void InlinePatience::check() const {
  if (actors::TaskContext::current() != nullptr && Clock::now() - idle_since_ > limit)
    throw Error("inline runs on one thread: this task waits for one that can't run "
                "before it ends");
}

} // namespace fiber::detail
