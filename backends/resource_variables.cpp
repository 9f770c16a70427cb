// SPDX-License-Identifier: Apache-2.0
#include "backends/resource_variables.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace fiber::backends {
namespace {

constexpr std::array thread_variables{"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                      "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"};
constexpr std::array gpu_variables{"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                   "ROCR_VISIBLE_DEVICES"};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

} // namespace

std::size_t cores_of(const JobResources& resources) {
  return static_cast<std::size_t>(std::max(1.0, std::ceil(resources.cpu)));
}

ResourceVariables::ResourceVariables(bool hide_gpus) : hide_gpus_(hide_gpus) {
  // In a job the variables with this value are those of the job, not the user's.
  auto own = variable(cpus_variable);
  for (auto* name : thread_variables)
    if (auto value = variable(name); !value.empty() && value != own)
      threads_[name] = value;
}

std::map<std::string, std::string>
ResourceVariables::threads_of(const JobResources& resources) const {
  auto variables = threads_;
  for (auto* name : thread_variables)
    variables.try_emplace(name, std::to_string(cores_of(resources)));
  return variables;
}

std::map<std::string, std::string>
ResourceVariables::of(const JobResources& resources) const {
  auto variables = threads_of(resources);
  variables[cpus_variable] = std::to_string(cores_of(resources));
  if (hide_gpus_ && resources.gpu == 0)
    for (auto* name : gpu_variables)
      variables[name] = "";
  return variables;
}

} // namespace fiber::backends
