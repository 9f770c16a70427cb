// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace es {

/// A column of a CSV file as a line of a plot.
struct PlottedColumn {
  int column = 0; ///< From 1.
  std::string title;
};

/// What stands on a plot.
struct PlotText {
  std::string title;
  std::string x = "iteration", y = "return of an episode"; ///< Of the axes.
  std::optional<double> mark = {}; ///< A line at this height: "solved at MARK".
};

/// Draws columns of the file `csv` over its first one to `png` with gnuplot, through a
/// script kept beside them. False if gnuplot is missing or fails.
bool plot_curve(const std::filesystem::path& csv, const std::filesystem::path& png,
                const PlotText& text, const std::vector<PlottedColumn>& columns);

} // namespace es
