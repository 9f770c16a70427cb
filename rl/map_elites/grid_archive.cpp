// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "fiber/rl/detail/number_text.hpp"
#include "fiber/rl/map_elites.hpp"

namespace fiber::rl {

GridArchive::GridArchive(std::vector<GridAxis> axes) : axes_(std::move(axes)) {
  if (axes_.empty())
    throw std::invalid_argument("an archive needs at least one axis");
  for (const auto& [cells, low, high] : axes_)
    if (cells == 0 || !(low < high) || !std::isfinite(low) || !std::isfinite(high))
      throw std::invalid_argument("an axis of an archive needs cells between a lower and "
                                  "an upper bound, not " +
                                  std::to_string(cells) + " between " +
                                  detail::shown(low) + " and " + detail::shown(high));
  std::size_t all = 1;
  for (const auto& axis : axes_) {
    if (all > std::numeric_limits<std::size_t>::max() / axis.cells)
      throw std::invalid_argument("the axes of an archive have more than 2^64 cells");
    all *= axis.cells;
  }
}

GridArchive::Addition GridArchive::add(const std::vector<double>& parameters,
                                       const Behaviour& behaviour) {
  const auto cell = cell_of(behaviour);
  const auto found = elites_.find(cell);
  if (found == elites_.end()) {
    elites_.emplace(cell, Elite{parameters, behaviour});
    return {.change = Change::added, .gain = behaviour.objective};
  }
  const double gain = behaviour.objective - found->second.behaviour.objective;
  if (!(gain > 0))
    return {.change = Change::none, .gain = gain};
  found->second = {parameters, behaviour};
  return {.change = Change::improved, .gain = gain};
}

std::size_t GridArchive::cells() const {
  std::size_t all = 1;
  for (const auto& axis : axes_)
    all *= axis.cells;
  return all;
}

double GridArchive::coverage() const {
  return static_cast<double>(elites_.size()) / static_cast<double>(cells());
}

double GridArchive::qd_score(double offset) const {
  double score = 0;
  for (const auto& [cell, elite] : elites_)
    score += elite.behaviour.objective - offset;
  return score;
}

const Elite& GridArchive::best() const {
  if (elites_.empty())
    throw std::out_of_range("the archive is empty");
  return std::ranges::max_element(
           elites_, {},
           [](const auto& entry) { return entry.second.behaviour.objective; })
    ->second;
}

void GridArchive::restore(std::map<std::size_t, Elite> elites) {
  if (!elites.empty() && elites.rbegin()->first >= cells())
    throw std::invalid_argument("a saved elite is in cell " +
                                std::to_string(elites.rbegin()->first) +
                                "; the archive has " + std::to_string(cells()));
  elites_ = std::move(elites);
}

std::size_t GridArchive::cell_of(const Behaviour& behaviour) const {
  const auto& measures = behaviour.measures;
  if (measures.size() != axes_.size())
    throw std::invalid_argument("a solution has " + std::to_string(measures.size()) +
                                " measures; the archive has " +
                                std::to_string(axes_.size()) + " axes");
  if (!std::isfinite(behaviour.objective))
    throw std::invalid_argument("the objective of a solution is " +
                                detail::shown(behaviour.objective));
  std::size_t cell = 0;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const auto& [cells, low, high] = axes_[i];
    if (!std::isfinite(measures[i]))
      throw std::invalid_argument("measure " + std::to_string(i) + " of a solution is " +
                                  detail::shown(measures[i]));
    const auto last = static_cast<double>(cells - 1);
    const double place =
      std::floor((measures[i] - low) / (high - low) * static_cast<double>(cells));
    cell = cell * cells + static_cast<std::size_t>(std::clamp(place, 0.0, last));
  }
  return cell;
}

} // namespace fiber::rl
