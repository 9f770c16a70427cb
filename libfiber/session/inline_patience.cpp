// SPDX-License-Identifier: Apache-2.0
#include "libfiber/session/inline_patience.hpp"

#include "actors/core/task_context.hpp"
#include "fiber/error.hpp"

namespace fiber::detail {
namespace {

/// A task that waits for so long without anything to run waits for ever.
constexpr std::chrono::seconds limit{2};

} // namespace

void InlinePatience::check() const {
  if (actors::TaskContext::current() != nullptr && Clock::now() - idle_since_ > limit)
    throw Error("inline runs on one thread: this task waits for one that can't run "
                "before it ends");
}

} // namespace fiber::detail
