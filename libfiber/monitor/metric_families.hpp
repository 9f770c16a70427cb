// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>
#include <prometheus/metric_family.h>

#include "actors/protocol/messages.hpp"

namespace fiber::detail {

/// The metrics of one scrape. docs/how-to/look-inside-a-program.md lists them.
class MetricFamilies {
public:
  using Labels = std::vector<prometheus::ClientMetric::Label>;

  /// Adds a number. Those of one name and the same labels count together.
  void gauge(const char* name, const char* help, Labels labels, double value);
  void counter(const char* name, const char* help, Labels labels, double value);
  void pool(const std::string& name, const actors::PoolReport& report);
  /// Adds what a session shows besides pools, from its snapshot.
  void session(const nlohmann::json& snapshot);
  std::vector<prometheus::MetricFamily> take() { return std::move(all_); }

private:
  /// Returns the metric with these labels in the family of that name.
  prometheus::ClientMetric& add(const char* name, const char* help,
                                prometheus::MetricType type, Labels labels);
  void jobs(const nlohmann::json& jobs);
  void job(const nlohmann::json& job);
  void queue(const nlohmann::json& queue);
  void supervisor(const nlohmann::json& supervisor);
  void ring(const nlohmann::json& ring);
  void manager(const nlohmann::json& manager);

  /// Places in a family's list of metrics.
  using Metrics = std::map<Labels, std::size_t>;

  std::vector<prometheus::MetricFamily> all_;
  /// By name: the place in all_.
  std::map<std::string, std::pair<std::size_t, Metrics>> places_;
};

} // namespace fiber::detail
