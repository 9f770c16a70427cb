// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fiber::actors {

/// The content of a crash line (backends/output/crash_line.hpp), which crash_handler.cpp
/// writes.
struct CrashReport {
  /// A call on the stack.
  struct Frame {
    std::string build;        ///< Build id of the object file, in hex; empty if in none.
    std::string object;       ///< Name of the object file; empty for the executable.
    std::uint64_t offset = 0; ///< Offset in the object file; the address if in none.
  };

  int signal = 0;
  std::optional<std::uint64_t> address; ///< The address whose access failed.
  std::uint64_t stack_pointer = 0;
  std::optional<std::uint32_t> slot; ///< The slot whose task crashed, if a task did.
  std::uint64_t seq = 0;             ///< The task's number in the slot.
  std::string uncaught;              ///< The uncaught exception, if one ended the job.
  std::vector<Frame> frames;         ///< Innermost first; ends with the task's function.

  /// Reads what follows the mark, without the newline. Nothing if it is not a whole
  /// report.
  static std::optional<CrashReport> parse(std::string_view line);
  /// Details beyond the signal, such as "null pointer"; may be empty.
  std::string detail() const;
};

constexpr std::size_t max_crash_frames = 64, max_crash_objects = 8;

/// The end of a job's output.
struct LastOutput {
  std::optional<CrashReport> crash;
  std::string lines; ///< Bounded by max_last_lines and max_last_bytes.
};

constexpr std::size_t max_last_lines = 20, max_last_bytes = 4096;

/// Returns the last whole report in `output` and the last lines without crash lines.
LastOutput read_last_output(std::string_view output);

/// Drops a report that does not fit the exit code: another program wrote it to the job's
/// output.
void drop_other_crash(LastOutput& last, std::optional<int> exit_code);

/// Returns the last lines of `text` within both limits. A line that is too long loses its
/// beginning.
std::string last_lines(std::string_view text, std::size_t max_lines,
                       std::size_t max_bytes);

} // namespace fiber::actors
