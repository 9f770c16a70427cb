// SPDX-License-Identifier: Apache-2.0
#include "rl/vec/loss_guard.hpp"

#include <utility>

#include "base/log.hpp"
#include "fiber/error.hpp"

namespace fiber::rl::vec {
namespace loss_limits {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int losses_in_a_row = 5;
constexpr int tries = 3; // Of an order at which an environment hangs, or its job dies.
constexpr int hangs_in_a_row = 2 * tries;
constexpr int failed_starts = 30; // With the supervisor's waits, half a minute or more.
constexpr std::chrono::seconds between_checks{1};

} // namespace
} // namespace loss_limits

LossGuard::LossGuard(Desk desk, const detail::EnvHosts& hosts,
                     std::vector<detail::HostPlan> plans)
  : desk_(desk), hosts_(hosts), plans_(std::move(plans)), envs_(desk.options.envs),
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
  if (const auto hang = take_hang(job))
    hung(*hang, orders);
  else
    blame(job, orders, reason);
  if (!std::exchange(jobs_[job].awaited, true))
    jobs_[job].restarts = hosts_.info(job).restarts;
}

/// What a job said before it ended. It may have said anything.
std::optional<detail::Hang> LossGuard::take_hang(std::size_t job) const {
  const auto& plan = plans_[job];
  std::optional<detail::Hang> found;
  if (!plan.hangs)
    return found;
  std::vector<detail::Hang> others;
  while (auto hang = plan.hangs->get(std::chrono::milliseconds(0)))
    if (hang->job == plan.job && hang->id >= plan.first &&
        hang->id < plan.first + plan.count)
      found = hang;
    else
      others.push_back(*hang);
  for (const auto& hang : others)
    plan.hangs->put(hang, std::chrono::milliseconds(0));
  return found;
}

void LossGuard::hung(const detail::Hang& hang, std::span<const int> orders) {
  const auto job = static_cast<std::size_t>(hang.job);
  for (int id = plans_[job].first; id < plans_[job].first + plans_[job].count; ++id)
    envs_[static_cast<std::size_t>(id)].spared = desk_.book.in_flight(id);
  for (const int id : orders)
    envs_[static_cast<std::size_t>(id)].spared = false;
  const auto in_reset = hang.call == detail::EnvCall::reset;
  const auto call = in_reset                                ? "reset()"
                    : hang.call == detail::EnvCall::observe ? "observe()"
                    : hang.call == detail::EnvCall::mask    ? "mask()"
                                                            : "step()";
  const auto text = "environment " + std::to_string(hang.id) + " hung: its " + call +
                    " took longer than " +
                    std::to_string(plans_[job].step_timeout.count()) +
                    " ms (step_timeout), and " + name(job) + " was ended";
  const auto hangs = ++envs_[static_cast<std::size_t>(hang.id)].hangs;
  const auto gives_up = !desk_.options.replay || hangs % loss_limits::tries == 0;
  desk_.incidents.hung(text + (gives_up ? "; its episode is given up" : ""));
  if (hangs >= loss_limits::hangs_in_a_row)
    throw TimeoutError(text + ", " + std::to_string(hangs) +
                       " times without a row in between");
  if (gives_up)
    desk_.book.give_up(hang.id, in_reset);
}

void LossGuard::blame(std::size_t job, std::span<const int> orders,
                      const std::string& reason) {
  const bool gives_up =
    desk_.options.replay && desk_.options.on_error == OnError::new_episode;
  std::size_t given_up = 0;
  for (const int id : orders) {
    auto& env = envs_[static_cast<std::size_t>(id)];
    if (std::exchange(env.spared, false))
      continue;
    if (++env.losses >= loss_limits::losses_in_a_row)
      throw Error(name(job) + " was lost " + std::to_string(env.losses) +
                  " times in a row while environment " + std::to_string(id) +
                  " was to be stepped, the last time: " + reason);
    if (gives_up && env.losses >= loss_limits::tries) {
      desk_.book.give_up(id, env.losses > loss_limits::tries); // reset() may die as well.
      ++given_up;
    }
  }
  if (given_up > 0)
    log().warn("{} was lost {} times in a row: {} of its episodes are given up",
               name(job), loss_limits::tries, given_up);
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
