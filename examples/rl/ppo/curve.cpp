// SPDX-License-Identifier: Apache-2.0
#include "curve.hpp"

#include <iomanip>
#include <sstream>

#include "fiber/rl/checkpoint_file.hpp"

namespace ppo {

void save_curve(const std::filesystem::path& path, const std::vector<CurveRow>& rows) {
  std::ostringstream out;
  out << "update,steps,episodes,return_mean,policy_loss,value_loss,entropy,kl,"
         "clip_fraction,gradient_norm,explained_variance,learning_rate,seconds,"
         "learner_idle\n"
      << std::setprecision(9);
  for (auto& row : rows) {
    out << row.update << ',' << row.steps << ',' << row.episodes;
    for (auto value :
         {row.return_mean, row.policy_loss, row.value_loss, row.entropy, row.kl,
          row.clip_fraction, row.gradient_norm, row.explained_variance, row.learning_rate,
          row.seconds, row.learner_idle})
      out << ',' << value;
    out << '\n';
  }
  fiber::rl::write_atomically(path, out.str());
}

} // namespace ppo
