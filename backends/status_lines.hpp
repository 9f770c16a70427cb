// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spdlog/sinks/sink.h>

#include "backends/stderr_writer.hpp"

namespace fiber::backends {

/// This process's stderr, shared by what jobs write, what is logged, and lines at its end
/// that change in place if it is a terminal. Nobody's text gets into another's line.
///
/// Thread safety: any thread may call any member function; none waits for the terminal.
class StatusLines {
public:
  StatusLines();
  ~StatusLines();
  StatusLines(const StatusLines&) = delete;
  StatusLines& operator=(const StatusLines&) = delete;

  /// Whether lines can change in place.
  bool live() const { return live_; }
  /// How long a line may be; at least 20.
  std::size_t columns() const;

  /// Shows these instead of the ones before; only what is live() shows any.
  void show(std::vector<std::string> lines);
  /// Writes a line above them, as soon as stderr takes it.
  void print(const std::string& line);

  /// Has `writer` write above the lines what goes without waiting, and returns how much
  /// that was. Nothing if somebody else is writing: come again.
  std::optional<std::size_t> write(StderrWriter& writer, std::string_view text);
  /// Runs `write`, which writes whole lines to stderr, while no lines are shown.
  void above(const std::function<void()>& write);

private:
  bool clear();
  bool flush();
  void draw();

  const bool live_;
  std::mutex mutex_; // Guards what follows.
  StderrWriter writer_;
  std::vector<std::string> lines_;
  std::size_t drawn_ = 0; ///< Lines that are shown now.
  std::string unsent_;    ///< Of ours; goes before anything else.
  std::string printed_;   ///< Lines that wait for the end of somebody's line.
  bool in_a_line_ = false;
};

/// Hands records to `sinks`, above the lines.
spdlog::sink_ptr log_above(std::shared_ptr<StatusLines> lines,
                           std::vector<spdlog::sink_ptr> sinks);

} // namespace fiber::backends
