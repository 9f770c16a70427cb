// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fiber/rl/plot.hpp"

namespace fiber::rl {

struct TrainingLogOptions {
  std::filesystem::path folder; ///< Is created if it is not there.
  /// The names of the numbers in a row, such as "return" or "loss/policy". TensorBoard
  /// groups by what is before a '/'. No name may have a comma or a line break in it.
  std::vector<std::string> columns;
  /// Nothing: the log begins anew, and an older one in the folder is deleted. A number:
  /// the log continues from a checkpoint of this step, and rows of later steps are
  /// deleted.
  std::optional<std::uint64_t> resume_after = {};
  bool tensorboard = true; ///< Also write event files.
};

/// Writes the curve of a training, one row for each update, to `curve.csv`, which has a
/// header line, and to event files that `tensorboard --logdir FOLDER` shows.
///
/// A row is handed to the operating system at once, so that kill -9 loses none. The log
/// of a resumed run continues after the rows of its checkpoint, without gaps or repeated
/// rows.
class TrainingLog {
public:
  /// Throws std::invalid_argument for invalid column names, std::runtime_error if the
  /// `curve.csv` to continue has other columns or is not a curve, and std::system_error.
  explicit TrainingLog(TrainingLogOptions options);
  ~TrainingLog();
  TrainingLog(const TrainingLog&) = delete;
  TrainingLog& operator=(const TrainingLog&) = delete;

  /// Adds a row. A NaN marks a missing value: it becomes an empty field, and no point in
  /// TensorBoard. Throws std::invalid_argument unless there is a value for each column
  /// and `step` is larger than that of the row before, and std::system_error.
  void add(std::uint64_t step, std::span<const double> values);
  /// Returns when all rows are on the disk. Call it before saving a checkpoint, so that
  /// after a loss of power the checkpoint is not ahead of the log. Throws
  /// std::system_error.
  void sync();
  /// Plots columns, given by name, against the step into `curve.png`, with plot_csv().
  /// Throws std::invalid_argument for an unknown name.
  bool plot(const std::vector<std::string>& columns, const PlotStyle& style) const;

  std::filesystem::path csv() const; ///< FOLDER/curve.csv.

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace fiber::rl
