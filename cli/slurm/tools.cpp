// SPDX-License-Identifier: Apache-2.0
#include "backends/engine/spawn.hpp"
#include "cli/slurm/slurm.hpp"

namespace fiber::cli {
namespace {

std::string detect_slurm() {
  auto sbatch = backends::find_in_path("sbatch");
  return sbatch.empty() ? "" : sbatch + " is there";
}

} // namespace

EngineTools slurm_tools() {
  return {.name = "slurm",
          .detect = detect_slurm,
          .diagnose = slurm::diagnose,
          .run = slurm::run,
          .copy = nullptr,
          .drivers = &slurm::drivers};
}

} // namespace fiber::cli
