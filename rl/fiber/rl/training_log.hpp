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
  /// Nothing: the log begins anew, and an older one in the folder goes. A number: it goes
  /// on from a checkpoint of this step, and rows of later steps go.
  std::optional<std::uint64_t> resume_after = {};
  bool tensorboard = true; ///< Write event files, too.
};

/// The curve of a training, a row for each update: `curve.csv` with a header line, and
/// event files that `tensorboard --logdir FOLDER` shows.
///
/// A row is handed to the operating system at once, so that kill -9 loses none. What a
/// resumed run writes follows what was written until its checkpoint, without a gap and
/// without a row twice.
class TrainingLog {
public:
  /// Throws std::invalid_argument for names that do not fit, std::runtime_error if the
  /// `curve.csv` to go on with has other columns or is not one, and std::system_error.
  explicit TrainingLog(TrainingLogOptions options);
  ~TrainingLog();
  TrainingLog(const TrainingLog&) = delete;
  TrainingLog& operator=(const TrainingLog&) = delete;

  /// Adds a row. A NaN is a number that this row does not have: an empty field, and no
  /// point in TensorBoard. Throws std::invalid_argument unless there is a value for each
  /// column and `step` is larger than the row's before, and std::system_error.
  void add(std::uint64_t step, std::span<const double> values);
  /// Returns when all rows are on the disk. Call it before a checkpoint is saved, which
  /// must not be ahead of the log after a loss of power. Throws std::system_error.
  void sync();
  /// Draws columns, by name, over the step to `curve.png` with plot_csv(). Throws
  /// std::invalid_argument for a name that there is not.
  bool plot(const std::vector<std::string>& columns, const PlotStyle& style) const;

  std::filesystem::path csv() const; ///< FOLDER/curve.csv.

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace fiber::rl
