// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fiber::rl {

/// A single measurement in a plot, such as the evaluation at the end of a training.
struct PlottedPoint {
  double x = 0, y = 0;
  std::string title;
};

struct PlotStyle {
  std::string title;
  std::string x_label = "steps";
  std::string y_label = "return of an episode";
  std::optional<double> solved_at = {}; ///< Draws a dashed line there.
  bool logarithmic_y = false;
  std::optional<PlottedPoint> point = {};
};

/// A column of a CSV file as a line of a plot.
struct PlottedColumn {
  int column = 0; ///< From 1.
  std::string title;
};

/// Plots `columns` of the file `csv` against its first column, with gnuplot, into the PNG
/// file `png`. `csv` has a header line. The gnuplot script stays next to the PNG file.
/// The last column is drawn in front. Empty fields are skipped. Returns false if gnuplot
/// is missing or fails. Throws std::system_error if the script cannot be written.
bool plot_csv(const std::filesystem::path& csv, const std::filesystem::path& png,
              const PlotStyle& style, const std::vector<PlottedColumn>& columns);

/// Runs gnuplot on a script of your own, for other drawings. The settings of ~/.gnuplot
/// do not count, and the input of gnuplot is empty. Returns false if gnuplot is missing
/// or fails, or has not ended within `limit`; then it is killed.
bool run_gnuplot(const std::filesystem::path& script,
                 std::chrono::milliseconds limit = std::chrono::minutes(2));

/// Runs a gnuplot script that sets no terminal and no output: both are put before it, for
/// the PNG file `png` of this size in pixels. The whole script stays next to the PNG
/// file. Returns false and throws as plot_csv() does.
bool draw_script(const std::filesystem::path& png, const std::string& script,
                 int width = 1200, int height = 720);

/// `text` as a string of a gnuplot script.
std::string gnuplot_string(const std::string& text);

} // namespace fiber::rl
