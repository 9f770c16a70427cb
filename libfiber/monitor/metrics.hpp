// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace fiber::observer {
class SessionView;
}

namespace fiber::detail {

class StatsSource;

/// Serves the metrics of a session to Prometheus at /metrics, if FIBER_METRICS is set.
/// Its parts are asked only during a scrape; otherwise metrics cost nothing.
///
/// A scrape is answered within seconds. A pool that is too busy to answer is reported
/// with its previous numbers, any other part is left out.
///
/// Thread-safe.
class Metrics {
public:
  /// Listens at the address. Throws std::runtime_error with the reason if it cannot.
  Metrics(const std::string& host, std::uint16_t port, observer::SessionView& view);
  /// Waits for scrapes in progress.
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
