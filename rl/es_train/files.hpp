// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "fiber/rl/evolution_training.hpp"
#include "fiber/rl/normalisation.hpp"
#include "fiber/rl/policy.hpp"

namespace fiber::rl::es_train {

/// A trained policy, by the environment it is for.
struct SavedPolicy {
  std::string environment;
  PolicySpec policy;
  FrozenNormaliser normaliser; ///< Of observations.
  std::vector<float> parameters;
};

/// Text: lines "fiber-es-policy 2", "environment NAME", "observations N ..." (their
/// shape), "hidden N ...", "actions discrete N" or "actions continuous N" with N lines
/// "LOW HIGH" after it, "normalised N CLIP" with N lines "MEAN SCALE" after it (N is 0 if
/// observations are not normalised), "parameters N", then one parameter a line, in the
/// order of the policy's network in PolicySpec. Numbers have the shortest form that reads
/// back as the same.
void save_policy(const std::filesystem::path& path, const SavedPolicy& policy);

/// Throws std::runtime_error if the file is not what save_policy() writes.
SavedPolicy load_policy(const std::filesystem::path& path);

/// Writes a learning curve as CSV with a header line. The mean of a policy that was not
/// evaluated is an empty field.
void save_curve(const std::filesystem::path& path, const std::vector<CurvePoint>& curve);

} // namespace fiber::rl::es_train
