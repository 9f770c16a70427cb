// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace fiber::detail {

class StatsSource;

/// What FIBER_METRICS asks for: tells Prometheus, at /metrics, what each pool of the
/// session has done. The pools are asked when somebody asks this; otherwise it costs
/// nothing.
///
/// Who asks gets an answer within seconds: of a pool that is busy the numbers of the last
/// time.
///
/// Thread-safe.
class Metrics {
public:
  /// Listens there. Throws std::runtime_error that says why it can't.
  Metrics(const std::string& host, std::uint16_t port);
  /// Waits for whoever is just asking.
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void add(const std::shared_ptr<StatsSource>& pool);

private:
  class Collector;
  struct Server;

  std::shared_ptr<Collector> collector_;
  std::unique_ptr<Server> server_;
};

} // namespace fiber::detail
