// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "es/policy.hpp"
#include "es/training.hpp"

namespace es {

/// Replaces a file so that whoever reads it, even after a crash or a loss of power, finds
/// either the old content or the new, whole. Throws std::system_error.
void write_atomically(const std::filesystem::path& path, std::string_view content);

/// Saves a run, to go on later with load_checkpoint(). `fingerprint` is
/// TrainingOptions::fingerprint().
void save_checkpoint(const std::filesystem::path& path, const std::string& fingerprint,
                     const TrainingState& state);

/// Nothing if there is no such file. Throws std::runtime_error if it is damaged, and if
/// it was saved with other options, naming both.
std::optional<TrainingState> load_checkpoint(const std::filesystem::path& path,
                                             const std::string& fingerprint);

/// A trained policy, by the environment it is for.
struct SavedPolicy {
  std::string environment;
  PolicyShape shape;
  std::vector<float> parameters;
};

/// Text: a line "fiber-es-policy 1", lines "environment NAME", "observations N", "hidden
/// N", "actions N", "parameters N", then one parameter a line, in Policy's order, in the
/// shortest form that reads back as the same float.
void save_policy(const std::filesystem::path& path, const SavedPolicy& policy);

/// Throws std::runtime_error if the file is not what save_policy() writes.
SavedPolicy load_policy(const std::filesystem::path& path);

/// Writes the learning curve as CSV with a header line.
void save_curve(const std::filesystem::path& path, const std::vector<CurvePoint>& curve);

/// A column of a CSV file as a line of a plot.
struct PlottedColumn {
  int column = 0; ///< From 1.
  std::string title;
};

/// Draws columns of the file `csv` over its first one to `png` with gnuplot, through a
/// script kept beside them. `mark` is the return at which the task is solved. False if
/// gnuplot is missing or fails.
bool plot_curve(const std::filesystem::path& csv, const std::filesystem::path& png,
                const std::string& title, std::optional<double> mark,
                const std::vector<PlottedColumn>& columns);

} // namespace es
