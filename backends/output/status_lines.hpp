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

/// This process's stderr, shared by jobs' output, the log, and status lines, which are
/// redrawn at the end if it is a terminal. Texts never mix within a line.
///
/// Thread safety: any thread may call any member function. None but above() waits for the
/// terminal: a thread of this class, started when first needed, writes what stderr does
/// not accept at once.
class StatusLines {
public:
  StatusLines();
  /// Waits up to half a second for stderr to accept the rest.
  ~StatusLines();
  StatusLines(const StatusLines&) = delete;
  StatusLines& operator=(const StatusLines&) = delete;

  /// Returns whether lines can be redrawn in place.
  bool live() const { return live_; }
  /// Returns the longest possible line; at least 20.
  std::size_t columns() const;

  /// Replaces the status lines. Shows nothing unless live().
  void show(std::vector<std::string> lines);
  /// Writes a line above them, as soon as stderr accepts it. While 1 MiB is unsent,
  /// further lines are only counted.
  void print(const std::string& line);

  /// Writes with `writer` above the lines as much as possible without waiting, and
  /// returns how much. Returns nothing if another thread is writing: try again.
  std::optional<std::size_t> write(StderrWriter& writer, std::string_view text);
  /// Ends the unfinished line of write(), whose writer will not call again.
  void end_line();

  /// Runs `write`, which writes complete lines to stderr, while the status lines are
  /// hidden. Blocks as long as `write` does; other calls are queued meanwhile.
  void above(const std::function<void()>& write);

private:
  using Clock = std::chrono::steady_clock;

  // REQUIRES: mutex_ is held.
  void refresh();
  void wake_thread();
  void await_terminal(std::unique_lock<std::mutex>& lock);
  bool clear();
  bool flush();
  void draw();
  bool is_behind() const;
  void run();

  const bool live_;
  std::mutex above_; ///< Serializes above().
  std::mutex mutex_; ///< Guards the fields below. Never held while waiting.
  std::condition_variable changed_;
  StderrWriter writer_;
  std::vector<std::string> lines_;
  std::size_t drawn_ = 0;   ///< Number of lines on the terminal.
  std::string unsent_;      ///< Our own text; goes before anything else.
  std::string printed_;     ///< Lines waiting for the end of write()'s line.
  std::size_t dropped_ = 0; ///< Lines dropped since.
  bool in_a_line_ = false;
  bool hidden_ = false;                   ///< above() is running.
  std::optional<Clock::time_point> ends_; ///< Set by the destructor.
  std::thread thread_;
};

} // namespace fiber::backends
