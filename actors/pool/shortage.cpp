// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <utility>

#include <caf/all.hpp>
#include <fmt/format.h>

#include "actors/pool/pool_state.hpp"
#include "base/log.hpp"

// Workers that could not be started for lack of something, such as files, processes or a
// quota. The others do the work. The supervisor forgets the missing ones; the pool starts
// them again one at a time, after a wait that grows with each try that fails.

namespace fiber::actors {
namespace {

constexpr std::chrono::milliseconds first_wait{1000}, longest_wait{30000};
constexpr int doublings = 5; // Until the longest wait.

std::chrono::milliseconds wait_after(int failures) {
  return std::min(first_wait * (1 << std::min(failures, doublings)), longest_wait);
}

} // namespace

/// Keeps the lost node's child away if there was no room for the node. Returns whether
/// that is so: then the supervisor must not replace the child.
bool PoolState::wait_for_room(const NodeLost& lost) {
  auto child = child_of(lost.name);
  if (lost.cause != LossCause::shortage || child == children.end() ||
      child->second.stopping || ending || failure)
    return false;
  const auto ordinal = child->first;
  if (shortage.tried == ordinal) {
    shortage.tried.reset();
    ++shortage.failures;
  }
  shortage.missing.insert(ordinal);
  shortage.reason = lost.reason;
  shortage.status = lost.status;
  if (nodes.empty() && !shortage.idle_since)
    shortage.idle_since = self->clock().now();
  stop_child(ordinal);
  try_later();
  return true;
}

void PoolState::try_later() {
  if (!shortage.tried && !std::exchange(shortage.pending, true))
    self->delayed_send(self, wait_after(shortage.failures), RoomTick{});
}

void PoolState::shortage_tick() {
  shortage.pending = false;
  if (ending || failure)
    return;
  std::erase_if(shortage.missing, [this](auto ordinal) {
    return ordinal * settings.workers_per_job >= settings.workers;
  });
  const auto starting = any_starting();
  if (nodes.empty() && !starting && shortage.idle_since &&
      self->clock().now() - *shortage.idle_since >= settings.start_deadline) {
    give_up(std::make_exception_ptr(BackendError(
      "start workers", shortage.status,
      fmt::format("no worker could be started within {} s: {}",
                  static_cast<double>(settings.start_deadline.count()) / 1000,
                  shortage.reason))));
    return;
  }
  if (!starting && !shortage.missing.empty() && !std::exchange(shortage.told, true))
    log().warn("{}: {} of {} workers run, and there is no room for more: {}; the others "
               "are tried again one at a time",
               settings.name, workers_up(), settings.workers, shortage.reason);
  try_next();
}

/// Starts one of the missing children, unless one is being started.
void PoolState::try_next() {
  if (shortage.tried)
    return;
  if (shortage.missing.empty()) {
    if (std::exchange(shortage, {}).told)
      log().warn("{}: all {} workers run", settings.name, settings.workers);
    return;
  }
  shortage.tried = *shortage.missing.begin();
  shortage.missing.erase(shortage.missing.begin());
  reconcile();
}

/// A child is up: if it was being tried, there may be room for another one.
void PoolState::found_room(std::size_t ordinal) {
  shortage.idle_since.reset();
  if (shortage.tried != ordinal)
    return;
  shortage.tried.reset();
  shortage.failures = 0;
  if (!shortage.pending)
    try_next();
}

/// Returns whether a child is being started.
bool PoolState::any_starting() const {
  std::set<std::string> up;
  for (auto& [incarnation, node] : nodes)
    up.insert(node.name);
  return std::ranges::any_of(children, [&](auto& child) {
    return !child.second.stopping && !up.contains(child_name(child.first));
  });
}

} // namespace fiber::actors
