// SPDX-License-Identifier: Apache-2.0
#include "rl/poet/environment_parameters.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace fiber::rl::poet {
namespace {

/// How a parameter that is an interval mutates. The values of the paper's table 1 are
/// those of pit, stump and stair.
struct IntervalGene {
  std::string_view gene;
  Interval EnvironmentParameters::*place;
  Interval initial; ///< With the first mutation; none if its `most` is 0.
  double step, lowest, highest;
  /// What must occur for this to have a meaning; null: nothing.
  Interval EnvironmentParameters::*needs = nullptr;
};

using P = EnvironmentParameters;
constexpr std::array<IntervalGene, 6> interval_genes = {
  {{"pit", &P::pit_gap, {0, 0.8}, 0.4, 0, 10},
   {"stump", &P::stump_height, {0, 0.4}, 0.2, 0, 5},
   {"stair", &P::stair_height, {0, 0.4}, 0.2, 0, 5},
   {"stump-width", &P::stump_width, {1, 2}, 1, 1, 5, &P::stump_height},
   {"stump-float", &P::stump_float, {0, 0.4}, 0.2, 0, 3, &P::stump_height},
   {"stair-width", &P::stair_width, {4, 5}, 1, 1, 9, &P::stair_height}}};

constexpr double roughness_step = 0.6, max_roughness = 10, max_steps = 9;

/// To a tenth: repeated steps of 0.2 stay comparable.
double rounded(double value) {
  return std::round(value * 10) / 10;
}

bool occurs(const EnvironmentParameters& parameters, const IntervalGene& gene) {
  return gene.needs == nullptr || (parameters.*gene.needs).most > 0;
}

Interval moved(const Interval& from, const IntervalGene& gene, Random& random) {
  if (from.most == 0)
    return gene.initial;
  std::vector<Interval> choices;
  for (const int low : {-1, 0, 1})
    for (const int high : {-1, 0, 1}) {
      const Interval to{rounded(from.least + low * gene.step),
                        rounded(from.most + high * gene.step)};
      if (to != from && to.least >= gene.lowest && to.least <= to.most && to.most > 0 &&
          to.most <= gene.highest)
        choices.push_back(to);
    }
  return choices[random.below(choices.size())];
}

double moved_roughness(double from, Random& random) {
  const double change = random.uniform(from > 0 ? -roughness_step : 0.0, roughness_step);
  return std::clamp(rounded(from + change), 0.0, max_roughness);
}

double moved_steps(double from, Random& random) {
  if (from <= 1 || from >= max_steps)
    return from <= 1 ? 2 : max_steps - 1;
  return random.uniform() < 0.5 ? from - 1 : from + 1;
}

void check_genes(std::span<const std::string> genes) {
  if (genes.empty())
    throw std::invalid_argument("mutation needs at least one gene that may change");
  for (const auto& gene : genes)
    if (std::ranges::find(gene_names, gene) == gene_names.end()) {
      std::string known;
      for (const auto name : gene_names)
        known += (known.empty() ? "" : ", ") + std::string(name);
      throw std::invalid_argument("no gene \"" + gene + "\"; there are " + known);
    }
}

/// Each component in steps of its mutation.
std::vector<double> coordinates(const EnvironmentParameters& parameters) {
  std::vector<double> all{parameters.roughness / roughness_step, parameters.stair_steps};
  for (const auto& gene : interval_genes) {
    all.push_back((parameters.*gene.place).least / gene.step);
    all.push_back((parameters.*gene.place).most / gene.step);
  }
  return all;
}

std::string text(double value) {
  std::array<char, 32> buffer;
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(),
                                       value, std::chars_format::general, 4)
                           .ptr};
}

std::string text(const Interval& range) {
  return range.least == range.most ? text(range.most)
                                   : text(range.least) + "-" + text(range.most);
}

} // namespace

std::vector<std::string> default_genes() {
  return {gene_names.begin(), gene_names.begin() + 4};
}

EnvironmentParameters mutated(const EnvironmentParameters& parent,
                              std::span<const std::string> genes, Random& random) {
  check_genes(genes);
  const auto allowed = [&](std::string_view gene) {
    return std::ranges::find(genes, gene) != genes.end();
  };
  EnvironmentParameters child = parent;
  std::vector<std::function<void()>> changes;
  if (allowed("roughness"))
    changes.emplace_back(
      [&] { child.roughness = moved_roughness(parent.roughness, random); });
  for (const auto& gene : interval_genes)
    if (allowed(gene.gene) && occurs(parent, gene))
      changes.emplace_back(
        [&] { child.*gene.place = moved(parent.*gene.place, gene, random); });
  if (allowed("stair") && parent.stair_height.most > 0)
    changes.emplace_back(
      [&] { child.stair_steps = moved_steps(parent.stair_steps, random); });
  if (changes.empty()) // Only genes of obstacles that do not occur.
    return child;
  bool any = false;
  for (const auto& change : changes)
    if (random.uniform() < 0.5) {
      change();
      any = true;
    }
  if (!any)
    changes[random.below(changes.size())]();
  return child;
}

TerrainOptions terrain_options(const EnvironmentParameters& parameters) {
  const auto range = [](const Interval& interval, double grain) {
    return TerrainOptions::Range{interval.least, interval.most, grain};
  };
  TerrainOptions options;
  options.roughness = parameters.roughness;
  options.pit_width = range(parameters.pit_gap, 0);
  options.stump_height = range(parameters.stump_height, 0);
  options.stump_width = range(parameters.stump_width, 1);
  options.stump_float = range(parameters.stump_float, 0);
  options.step_height = range(parameters.stair_height, 0);
  options.step_width = range(parameters.stair_width, 1);
  options.steps = {parameters.stair_steps, parameters.stair_steps, 1};
  return options;
}

std::string describe(const EnvironmentParameters& parameters) {
  const EnvironmentParameters usual;
  std::string words =
    parameters.roughness > 0 ? "roughness " + text(parameters.roughness) : "flat";
  if (parameters.pit_gap.most > 0)
    words += ", pits " + text(parameters.pit_gap);
  if (parameters.stump_height.most > 0) {
    words += ", stumps " + text(parameters.stump_height);
    if (parameters.stump_width != usual.stump_width)
      words += " wide " + text(parameters.stump_width);
    if (parameters.stump_float.most > 0)
      words += " above " + text(parameters.stump_float);
  }
  if (parameters.stair_height.most > 0) {
    words +=
      ", stairs " + text(parameters.stair_height) + " x" + text(parameters.stair_steps);
    if (parameters.stair_width != usual.stair_width)
      words += " wide " + text(parameters.stair_width);
  }
  return words;
}

double distance(const EnvironmentParameters& one, const EnvironmentParameters& other) {
  const auto a = coordinates(one), b = coordinates(other);
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    squares += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(squares);
}

double novelty(const EnvironmentParameters& parameters,
               std::span<const EnvironmentParameters> archive, std::size_t neighbours) {
  std::vector<double> distances;
  for (const auto& other : archive)
    distances.push_back(distance(parameters, other));
  std::ranges::sort(distances);
  distances.resize(std::min(distances.size(), neighbours));
  if (distances.empty())
    return 0;
  return std::accumulate(distances.begin(), distances.end(), 0.0) /
         static_cast<double>(distances.size());
}

} // namespace fiber::rl::poet
