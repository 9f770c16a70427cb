// SPDX-License-Identifier: Apache-2.0
#include "rl/vec/loss_guard.hpp"

#include <utility>

#include "fiber/error.hpp"

namespace fiber::rl::vec {
namespace loss_limits {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int losses_in_a_row = 5;
constexpr int failed_starts = 30; // With the supervisor's waits, half a minute or more.
constexpr std::chrono::seconds between_checks{1};

} // namespace
} // namespace loss_limits

LossGuard::LossGuard(const detail::EnvHosts& hosts, std::vector<detail::HostPlan> plans)
  : hosts_(hosts), plans_(std::move(plans)),
    in_a_row_(static_cast<std::size_t>(plans_.back().first + plans_.back().count)),
    jobs_(plans_.size()) {}

std::string LossGuard::name(std::size_t job) const {
  const auto& plan = plans_[job];
  auto text = "job " + std::to_string(job) + " of a VecEnv (environment" +
              (plan.count == 1 ? " " : "s ") + std::to_string(plan.first);
  if (plan.count > 1)
    text += " to " + std::to_string(plan.first + plan.count - 1);
  return text + ")";
}

void LossGuard::lost(std::size_t job, std::span<const int> orders,
                     const std::string& reason) {
  for (const int id : orders)
    if (++in_a_row_[static_cast<std::size_t>(id)] >= loss_limits::losses_in_a_row)
      throw Error(name(job) + " was lost " +
                  std::to_string(loss_limits::losses_in_a_row) +
                  " times in a row while environment " + std::to_string(id) +
                  " was to be stepped, the last time: " + reason);
  if (!std::exchange(jobs_[job].awaited, true))
    jobs_[job].restarts = hosts_.info(job).restarts;
}

void LossGuard::check_starts() {
  const auto now = loss_limits::Clock::now();
  if (now < next_check_)
    return;
  next_check_ = now + loss_limits::between_checks;
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    if (!jobs_[job].awaited)
      continue;
    const auto info = hosts_.info(job);
    if (info.restarts - jobs_[job].restarts >= loss_limits::failed_starts)
      throw Error(name(job) +
                  " can't be started again, the last time: " + info.last_error);
  }
}

} // namespace fiber::rl::vec
