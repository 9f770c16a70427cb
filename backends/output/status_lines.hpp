// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "backends/output/stderr_writer.hpp"

namespace fiber::backends {

/// This process's stderr, shared by what jobs write, what is logged, and lines at its end
/// that change in place if it is a terminal. Nobody's text gets into another's line.
///
/// Thread safety: any thread may call any member function; none waits for the terminal,
/// but above(). What stderr does not take now is written by a thread of this class's own,
/// which starts when that first happens.
class StatusLines {
public:
  StatusLines();
  /// Gives stderr half a second to take what is left.
  ~StatusLines();
  StatusLines(const StatusLines&) = delete;
  StatusLines& operator=(const StatusLines&) = delete;

  /// Whether lines can change in place.
  bool live() const { return live_; }
  /// How long a line may be; at least 20.
  std::size_t columns() const;

  /// Shows these instead of the ones before; only what is live() shows any.
  void show(std::vector<std::string> lines);
  /// Writes a line above them, as soon as stderr takes it. While 1 MiB waits for that,
  /// further ones are counted and left out.
  void print(const std::string& line);

  /// Has `writer` write above the lines what goes without waiting, and returns how much
  /// that was. Nothing if somebody else is writing: come again.
  std::optional<std::size_t> write(StderrWriter& writer, std::string_view text);
  /// Ends the line that write() left without an end: its writer does not come again.
  void end_line();

  /// Runs `write`, which writes whole lines to stderr, while no lines are shown. Waits as
  /// long as that waits; others then only put down what they want.
  void above(const std::function<void()>& write);

private:
  using Clock = std::chrono::steady_clock;

  // Under the mutex:
  void refresh();
  void catch_up();
  void await_terminal(std::unique_lock<std::mutex>& lock);
  bool clear();
  bool flush();
  void draw();
  bool is_behind() const;
  void run();

  const bool live_;
  std::mutex above_; ///< One at a time; held by who waits for the terminal.
  std::mutex mutex_; ///< Guards what follows. Nobody who holds it waits.
  std::condition_variable changed_;
  StderrWriter writer_;
  std::vector<std::string> lines_;
  std::size_t drawn_ = 0;    ///< Lines that are shown now.
  std::string unsent_;       ///< Of ours; goes before anything else.
  std::string printed_;      ///< Lines that wait for the end of somebody's line.
  std::size_t left_out_ = 0; ///< Lines, since then.
  bool in_a_line_ = false;
  bool lent_ = false;                     ///< Somebody is at it in above().
  std::optional<Clock::time_point> ends_; ///< Since the destructor.
  std::thread thread_;
};

} // namespace fiber::backends
