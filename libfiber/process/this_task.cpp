// SPDX-License-Identifier: Apache-2.0
#include "fiber/this_task.hpp"

#include "actors/core/task_context.hpp"
#include "fiber/error.hpp"

namespace fiber::this_task {
namespace {

const actors::TaskContext& context() {
  if (auto* current = actors::TaskContext::current())
    return *current;
  throw Error("fiber::this_task was asked outside a task");
}

} // namespace

std::size_t index() {
  return context().index;
}
int attempt() {
  return context().attempt;
}
std::size_t worker_rank() {
  return context().rank;
}
std::stop_token stop_token() {
  return context().host->stop_token();
}

} // namespace fiber::this_task
