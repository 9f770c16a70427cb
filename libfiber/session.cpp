// SPDX-License-Identifier: Apache-2.0
#include "fiber/session.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include "actors/node_main.hpp"
#include "backends/job_entry.hpp"
#include "libfiber/runtime.hpp"
#include "libfiber/settings.hpp"

namespace fiber {
namespace {

/// Cores by the control group's quota; 0 if there is none.
double quota() {
  std::string most;
  double period = 0;
  // Version 2, as seen from within a container's own namespace or a plain machine.
  if (std::ifstream file("/sys/fs/cgroup/cpu.max");
      file >> most >> period && most != "max")
    return std::stod(most) / period;
  double v1 = 0;
  std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") >> v1;
  std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_period_us") >> period;
  return v1 > 0 && period > 0 ? v1 / period : 0;
}

} // namespace

Session::Session(std::shared_ptr<detail::Runtime> runtime)
  : runtime_(std::move(runtime)) {}
Session::Session(Session&&) noexcept = default;

Session& Session::operator=(Session&& other) noexcept {
  if (this != &other) {
    if (runtime_)
      runtime_->close();
    runtime_ = std::move(other.runtime_);
  }
  return *this;
}

Session::~Session() {
  if (runtime_)
    runtime_->close();
}

Session init(int&, char**&, Config overrides) {
  if (auto job = backends::enter_job())
    actors::run_node(std::move(*job));
  return Session(detail::Runtime::open(resolve(overrides)));
}

std::size_t cpu_count() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  auto cores = sched_getaffinity(0, sizeof allowed, &allowed) == 0
                 ? static_cast<std::size_t>(CPU_COUNT(&allowed))
                 : std::size_t{std::thread::hardware_concurrency()};
  if (auto limit = quota(); limit > 0)
    cores = std::min(cores, static_cast<std::size_t>(std::ceil(limit)));
  return std::max<std::size_t>(1, cores);
}

} // namespace fiber
