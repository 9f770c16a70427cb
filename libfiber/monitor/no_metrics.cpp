// SPDX-License-Identifier: Apache-2.0
// Replaces metrics.cpp in a build without FIBER_METRICS.
#include "libfiber/monitor/metrics.hpp"

#include <stdexcept>

namespace fiber::detail {

class Metrics::Collector {};
struct Metrics::Server {};

Metrics::Metrics(const std::string&, std::uint16_t, observer::SessionView&) {
  throw std::runtime_error("this build has no metrics (FIBER_METRICS is OFF)");
}

Metrics::~Metrics() = default;

void Metrics::add(const std::shared_ptr<StatsSource>&) {}

} // namespace fiber::detail
