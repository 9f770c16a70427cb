// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>

namespace fiber::rl {

/// The progress of a training. A NaN is shown as "-".
struct TrainingStatus {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

  std::uint64_t step = 0;
  std::uint64_t steps = 0; ///< Of the whole training; 0: unknown.
  double steps_per_second = unknown;
  double mean_return = unknown; ///< Of recent episodes.
  double policy_loss = unknown;
  double value_loss = unknown;
  double learner_idle =
    unknown; ///< The share of its time that the learner waits, 0 to 1.
};

/// In one line: "40,960/500,000  12,345 steps/s  return 321.4  policy -0.0123  value 45.6
/// idle 12 %".
std::string describe(const TrainingStatus& status);

/// Shows the progress of a run: on a terminal as one line that is rewritten, elsewhere as
/// plain lines.
class LiveLine {
public:
  /// `out` must outlive this. If `out` is not a terminal, only the first of each
  /// `plain_every` lines is printed.
  explicit LiveLine(std::FILE* out, std::size_t plain_every = 10);
  /// Leaves the cursor on a new line. Prints the last line shown, unless it was printed.
  ~LiveLine();
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  /// Shows a line, which must not contain line breaks. It is cut to the terminal's width.
  void show(const std::string& line);
  void show(const TrainingStatus& status) { show(describe(status)); }
  /// Prints a line that stays, such as the result.
  void say(const std::string& line);

private:
  std::FILE* out_;
  bool terminal_;
  std::size_t plain_every_;
  std::size_t shown_ = 0;
  bool open_ = false;   ///< A line that may be rewritten stands on the terminal.
  std::string pending_; ///< Elsewhere: the last line, if it was not printed.
};

} // namespace fiber::rl
