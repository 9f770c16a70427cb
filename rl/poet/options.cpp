// SPDX-License-Identifier: Apache-2.0
#include "rl/poet/options.hpp"

#include <array>
#include <charconv>
#include <sstream>
#include <stdexcept>

#include "fiber/detail/classic_locale.hpp"

namespace fiber::rl::poet {
namespace {

void demand(bool good, const char* sentence) {
  if (!good)
    throw std::invalid_argument(sentence);
}

/// The shortest decimal form that reads back as the same number.
template <class Number>
std::string in_full(Number number) {
  std::array<char, 64> buffer;
  const auto end =
    std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  return {buffer.data(), end};
}

template <class List>
std::string words(const List& list) {
  fiber::detail::Classic<std::ostringstream> out;
  for (const auto& each : list)
    out << (out.tellp() > 0 ? " " : "") << each;
  return std::move(out).str();
}

} // namespace

void PoetOptions::check() const {
  demand(directions > 0, "directions must be 1 or more");
  demand(evaluations > 0, "evaluations must be 1 or more");
  demand(max_steps > 0, "max-steps must be 1 or more");
  demand(sigma > 0 && min_sigma > 0 && min_sigma <= sigma,
         "sigma must be above 0, and its least value not above it");
  demand(learning_rate > 0 && min_learning_rate > 0 && min_learning_rate <= learning_rate,
         "the learning rate must be above 0, and its least value not above it");
  demand(sigma_decay > 0 && sigma_decay <= 1 && learning_rate_decay > 0 &&
           learning_rate_decay <= 1,
         "sigma and learning rate decay by factors above 0, and 1 at most");
  demand(counted_share > 0 && counted_share <= 1,
         "the share of directions that count must be above 0, and 1 at most");
  demand(transfer_every > 0, "transfer-every must be 1 or more");
  demand(mutate_every > 0, "mutate-every must be 1 or more");
  demand(min_return <= max_return,
         "the minimal criterion's least return must not be above its most");
  demand(children > 0, "children must be 1 or more");
  demand(admitted > 0, "admitted must be 1 or more");
  demand(max_environments > 0, "max-environments must be 1 or more");
  demand(admitted <= max_environments,
         "a round cannot admit more environments than there may be: lower admitted or "
         "raise max-environments");
  demand(neighbours > 0, "neighbours must be 1 or more");
  Random random(0);
  mutated({}, genes, random); // Throws for genes that there are not.
}

std::map<std::string, std::string> PoetOptions::settings() const {
  return {
    {"seed", in_full(seed)},
    {"hidden", hidden.empty() ? "none" : words(hidden)},
    {"directions", in_full(directions)},
    {"evaluations", in_full(evaluations)},
    {"max steps", in_full(max_steps)},
    {"sigma", in_full(sigma) + " " + in_full(sigma_decay) + " " + in_full(min_sigma)},
    {"learning rate", in_full(learning_rate) + " " + in_full(learning_rate_decay) + " " +
                        in_full(min_learning_rate)},
    {"counted share", in_full(counted_share)},
    {"table size", in_full(table_size)},
    {"transfer every", in_full(transfer_every)},
    {"proposals", proposals ? "yes" : "no"},
    {"mutate every", in_full(mutate_every)},
    {"reproduce at", in_full(reproduce_at)},
    {"minimal criterion", in_full(min_return) + " " + in_full(max_return)},
    {"children", in_full(children)},
    {"admitted", in_full(admitted)},
    {"max environments", in_full(max_environments)},
    {"neighbours", in_full(neighbours)},
    {"genes", words(genes)}};
}

} // namespace fiber::rl::poet
