// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/map_elites.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <tuple>

#include "fiber/rl/random.hpp"

namespace fiber::rl {
namespace {
namespace qd {

// The first part of the keys of random numbers.
constexpr std::uint64_t search_seeds = 0x717301, restart_places = 0x717302,
                        parents = 0x717303, mutations = 0x717304;

/// A value for each solution of an emitter, the least for the best: its place among them.
std::vector<double> places(std::span<const GridArchive::Addition> additions) {
  std::vector<std::size_t> order(additions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return std::tie(additions[b].change, additions[b].gain) <
           std::tie(additions[a].change, additions[a].gain);
  });
  std::vector<double> values(additions.size());
  for (std::size_t place = 0; place < order.size(); ++place)
    values[order[place]] = static_cast<double>(place);
  return values;
}

} // namespace qd
} // namespace

MapElites::MapElites(std::vector<double> start, MapElitesOptions options,
                     std::uint64_t seed)
  : start_(std::move(start)), options_(std::move(options)), seed_(seed),
    archive_(options_.axes), restarts_(options_.emitters) {
  if (start_.empty() || options_.emitters == 0 || options_.batch < 4 ||
      !(options_.sigma > 0))
    throw std::invalid_argument("a search for elites needs parameters, emitters, a batch "
                                "of at least 4 and a sigma above 0");
  if (options_.emitter == MapElitesOptions::Emitter::improvement)
    for (std::size_t i = 0; i < options_.emitters; ++i)
      searches_.push_back(search_at(i, start_));
}

MapElites::MapElites(std::vector<double> start, MapElitesOptions options,
                     std::uint64_t seed, MapElitesState state)
  : MapElites(std::move(start), std::move(options), seed) {
  if (state.searches.size() != searches_.size() ||
      state.restarts.size() != restarts_.size())
    throw std::invalid_argument("the saved state is of another number of emitters");
  iteration_ = state.iteration;
  archive_.restore(std::move(state.elites));
  restarts_ = std::move(state.restarts);
  for (std::size_t i = 0; i < searches_.size(); ++i)
    searches_[i] = CmaEs(std::move(state.searches[i]), search_seed(i), options_.batch);
}

std::uint64_t MapElites::search_seed(std::size_t emitter) const {
  return Random(seed_, {qd::search_seeds, emitter, restarts_[emitter]}).next();
}

CmaEs MapElites::search_at(std::size_t emitter, std::vector<double> mean) const {
  return CmaEs(std::move(mean), options_.sigma, search_seed(emitter), options_.batch);
}

const std::vector<double>& MapElites::drawn_elite(std::uint64_t purpose,
                                                  std::uint64_t index) const {
  const auto& elites = archive_.elites();
  if (elites.empty())
    return start_;
  const auto place = Random(seed_, {purpose, iteration_, index}).below(elites.size());
  return std::next(elites.begin(), static_cast<std::ptrdiff_t>(place))->second.parameters;
}

std::vector<std::vector<double>> MapElites::mutants() const {
  std::vector<std::vector<double>> all;
  for (std::uint64_t i = 0; i < options_.emitters * options_.batch; ++i) {
    auto& mutant = all.emplace_back(drawn_elite(qd::parents, i));
    Random random(seed_, {qd::mutations, iteration_, i});
    for (auto& parameter : mutant)
      parameter += options_.sigma * random.normal();
  }
  return all;
}

std::vector<std::vector<double>> MapElites::ask() const {
  if (searches_.empty())
    return mutants();
  std::vector<std::vector<double>> all;
  for (const auto& search : searches_)
    std::ranges::move(search.ask(), std::back_inserter(all));
  return all;
}

void MapElites::tell(std::span<const Behaviour> results) {
  const auto asked = ask();
  if (results.size() != asked.size())
    throw std::invalid_argument("there must be one result for each of " +
                                std::to_string(asked.size()) + " solutions, not " +
                                std::to_string(results.size()));
  auto archive = archive_; // Kept as it is if a result is refused.
  std::vector<GridArchive::Addition> additions;
  for (std::size_t i = 0; i < asked.size(); ++i)
    additions.push_back(archive.add(asked[i], results[i]));
  archive_ = std::move(archive);
  for (std::size_t i = 0; i < searches_.size(); ++i) {
    const auto own = std::span(additions).subspan(i * options_.batch, options_.batch);
    searches_[i].tell(qd::places(own));
    const bool vain = std::ranges::all_of(own, [](const auto& addition) {
      return addition.change == GridArchive::Change::none;
    });
    if (vain || searches_[i].stop_reason()) {
      ++restarts_[i];
      searches_[i] = search_at(i, drawn_elite(qd::restart_places, i));
    }
  }
  ++iteration_;
}

MapElitesState MapElites::state() const {
  MapElitesState state{.iteration = iteration_,
                       .elites = archive_.elites(),
                       .searches = {},
                       .restarts = restarts_};
  for (const auto& search : searches_)
    state.searches.push_back(search.state());
  return state;
}

} // namespace fiber::rl
