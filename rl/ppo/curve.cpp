// SPDX-License-Identifier: Apache-2.0
#include "rl/ppo/curve.hpp"

namespace fiber::rl::ppo {

std::vector<std::string> column_names() {
  return {"update",           "episodes",
          "return",           "loss/policy",
          "loss/value",       "loss/entropy",
          "policy/kl",        "policy/clip_fraction",
          "gradient/norm",    "value/explained_variance",
          "learning_rate",    "time/seconds",
          "time/learner_idle"};
}

std::vector<double> columns(const CurveRow& row) {
  return {static_cast<double>(row.update),
          static_cast<double>(row.episodes),
          row.return_mean,
          row.policy_loss,
          row.value_loss,
          row.entropy,
          row.kl,
          row.clip_fraction,
          row.gradient_norm,
          row.explained_variance,
          row.learning_rate,
          row.seconds,
          row.learner_idle};
}

} // namespace fiber::rl::ppo
