// SPDX-License-Identifier: Apache-2.0
#include "libfiber/observer/series_store.hpp"

#include <nlohmann/json.hpp>

namespace fiber::observer {
namespace {

using nlohmann::json;

/// JSON has no number for what is not finite: null stands for it.
json number(double value) {
  return value - value == 0 ? json(value) : json();
}

} // namespace

bool SeriesStore::add(std::string_view name, double value) {
  auto now = Clock::now();
  std::lock_guard lock(mutex_);
  auto found = all_.find(name);
  if (found == all_.end()) {
    if (all_.size() >= max_series) {
      ++refused_;
      return false;
    }
    found = all_.emplace(name, Series{}).first;
  }
  auto& series = found->second;
  ++series.values;
  series.last = value;
  series.sum += value;
  if (++series.gathered < series.each)
    return true;
  auto& points = series.points;
  points.push_back({now, series.sum / static_cast<double>(series.each)});
  series.sum = 0;
  series.gathered = 0;
  if (points.size() < points_)
    return true;
  for (std::size_t i = 0; i < points.size() / 2; ++i)
    points[i] = {points[2 * i + 1].at,
                 (points[2 * i].value + points[2 * i + 1].value) / 2};
  points.resize(points.size() / 2);
  series.each *= 2;
  return true;
}

json SeriesStore::list(Clock::time_point start, std::uint64_t& refused) const {
  std::lock_guard lock(mutex_);
  refused = refused_;
  auto list = json::array();
  for (auto& [name, series] : all_) {
    auto points = json::array();
    for (auto& point : series.points)
      points.push_back(
        {std::chrono::duration<double>(point.at - start).count(), number(point.value)});
    list.push_back({{"name", name},
                    {"values", series.values},
                    {"values_in_a_point", series.each},
                    {"last", number(series.last)},
                    {"points", std::move(points)}});
  }
  return list;
}

} // namespace fiber::observer
