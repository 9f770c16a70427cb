// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fiber::rl {

/// A rollout of `steps` steps in each of `envs` environments. All spans are time-major:
/// environment n at step t is at t * envs + n.
///
/// At step t the agent sees s_t, acts, and gets the reward and the flags of that action.
/// s_{t+1} is in the next row. Where the episode ended, s_{t+1} belongs to the next
/// episode, so another value takes the place of V(s_{t+1}):
///   - terminated: 0, even if `truncated` is set as well;
///   - truncated: `final_values`, the value of the observation that the episode ended
///     with (Pardo et al. 2018).
///
/// A row with valid = 0 has no reward: its job was lost, or the environment ignored the
/// action, as in the reset step of Autoreset::next_step. It is left out. The row before
/// it is bootstrapped from V(s_t) of the invalid row.
///
/// Sums over time are cut at each of these three: terminated, truncated and invalid rows.
struct Rollout {
  std::size_t steps = 0;
  std::size_t envs = 0;
  std::span<const double> rewards;          ///< steps * envs.
  std::span<const float> values;            ///< V(s_t), steps * envs.
  std::span<const float> last_values;       ///< V(s_steps), envs.
  std::span<const float> final_values;      ///< steps * envs, read where truncated alone
                                            ///< is set. Empty if no row is truncated.
  std::span<const std::uint8_t> terminated; ///< steps * envs.
  std::span<const std::uint8_t> truncated;  ///< steps * envs.
  std::span<const std::uint8_t> valid = {}; ///< steps * envs; empty: all are valid.
};

struct GaeOptions {
  double gamma = 0.99;  ///< The discount of a step.
  double lambda = 0.95; ///< 0: one-step differences; 1: discounted returns.
};

/// Generalised advantage estimation (Schulman et al. 2016, eq. 11 to 16):
///
///   delta_t = r_t + gamma V(s_{t+1}) - V(s_t)
///   A_t     = delta_t + gamma lambda A_{t+1}
///
/// Writes A_t to `advantages` and A_t + V(s_t), the target of the value function, to
/// `returns`. Both have steps * envs floats; sums are taken in double. A row that is not
/// valid gets the advantage 0 and its own value as its target; leave it out of means.
///
/// Throws std::invalid_argument for a span of another size, and if a row is truncated but
/// `final_values` is empty. Throws std::domain_error, naming step and environment, if a
/// result is not finite.
void estimate_advantages(const Rollout& rollout, const GaeOptions& options,
                         std::span<float> advantages, std::span<float> returns);

struct VTraceOptions {
  double gamma = 0.99;       ///< The discount of a step.
  double rho_bar = 1;        ///< Limits the weights of the temporal differences.
  double c_bar = 1;          ///< Limits the weights of the trace.
  double policy_rho_bar = 1; ///< Limits the weights of the policy's gradient.
  double lambda = 1;         ///< Multiplies the trace's weights (Remark 2).
};

/// V-trace (Espeholt et al. 2018, section 4.1): corrects for actions that an older policy
/// mu chose, in place of the present policy pi. With w_t = pi(a_t|s_t) / mu(a_t|s_t),
/// rho_t = min(rho_bar, w_t) and c_t = lambda min(c_bar, w_t), eq. 1 is
///
///   v_t = V(s_t) + rho_t (r_t + gamma V(s_{t+1}) - V(s_t))
///         + gamma c_t (v_{t+1} - V(s_{t+1}))
///
/// and the advantage for the policy's gradient is
///
///   min(policy_rho_bar, w_t) (r_t + gamma v_{t+1} - V(s_t)).
///
/// `behaviour` and `target` are the log-probabilities of the actions taken, under mu and
/// under pi, steps * envs each. Writes v_t to `targets`. Where a sum over time is cut
/// (see Rollout), v_{t+1} is the value that Rollout names. A row that is not valid gets
/// its own value as its target and the advantage 0.
///
/// Throws as estimate_advantages() does.
void v_trace(const Rollout& rollout, std::span<const float> behaviour,
             std::span<const float> target, const VTraceOptions& options,
             std::span<float> targets, std::span<float> advantages);

} // namespace fiber::rl
