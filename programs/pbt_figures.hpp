// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <fiber/rl/population.hpp>

// What pbt saves of a run: tables as CSV, and the figures that gnuplot makes of them.

namespace pbt {

/// A variant of the toy, and its rows: step, then theta0, theta1 and score of both
/// members.
struct ToyRun {
  std::string title;
  std::vector<std::vector<double>> rows;
};

/// Writes OUT/toy_N.csv for each variant and OUT/pbt.png. Returns false without gnuplot.
bool save_toy(const std::filesystem::path& out, const std::vector<ToyRun>& runs);

/// Writes a table of all members in all rounds: round, member, whom it copied after that
/// round, its score, its hyper-parameters.
void save_history(const std::filesystem::path& csv,
                  const std::vector<fiber::rl::PopulationRound>& history,
                  const std::vector<fiber::rl::HyperparameterRange>& ranges);

/// The ancestors of a member of the last round: the member of each round whose state it
/// goes on from.
std::vector<std::size_t>
ancestors_of(std::size_t member, const std::vector<fiber::rl::PopulationRound>& history);

/// The mean of numbers, of which there is at least one.
double mean_of(const std::vector<double>& numbers);

/// Draws OUT/pbt.png from OUT/pbt.csv and OUT/random.csv: scores, the hyper-parameters
/// over time, and who copied whom; the ancestors of the best member stand out. For an odd
/// number of hyper-parameters, which leaves a place free, also the means of the scores.
bool draw_history(const std::filesystem::path& out, const std::string& title,
                  std::size_t best,
                  const std::vector<fiber::rl::PopulationRound>& history,
                  const std::vector<fiber::rl::PopulationRound>& random_history,
                  const std::vector<fiber::rl::HyperparameterRange>& ranges);

} // namespace pbt
