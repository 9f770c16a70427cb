// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fiber::actors {

/// What a job wrote as it crashed: a crash line (backends/output/crash_line.hpp), made by
/// crash_handler.cpp.
struct CrashReport {
  /// Where one call stood.
  struct Frame {
    std::string build;        ///< Of the object file, in hex; empty: in none.
    std::string object;       ///< Its name; empty: the executable.
    std::uint64_t offset = 0; ///< Within the object; in none: the address.
  };

  int signal = 0;
  std::optional<std::uint64_t> address; ///< That it could not use.
  std::uint64_t stack_pointer = 0;
  std::optional<std::uint32_t> slot; ///< Which one's task crashed, if one's thread did.
  std::uint64_t seq = 0;             ///< That task's number.
  std::string uncaught;              ///< The exception that ended it, if one did.
  std::vector<Frame> frames;         ///< Innermost first, without what called the task.

  /// Nothing if it is no whole report. Takes what follows the mark, without the newline.
  static std::optional<CrashReport> parse(std::string_view line);
  /// What is known beyond the signal: "null pointer"; may be empty.
  std::string detail() const;
};

constexpr std::size_t most_crash_frames = 64, most_crash_objects = 8;

/// The end of a job's output.
struct LastOutput {
  std::optional<CrashReport> crash;
  std::string lines; ///< Bounded by most_last_lines and most_last_bytes.
};

constexpr std::size_t most_last_lines = 20, most_last_bytes = 4096;

/// The last whole report in `output`, and the last lines that are none.
LastOutput read_last_output(std::string_view output);

/// Drops a report of another end than this one: it is of something else that wrote to the
/// job's output.
void drop_other_crash(LastOutput& last, std::optional<int> exit_code);

/// The last lines of `text`, within the limits; a longer line loses its beginning.
std::string last_lines(std::string_view text, std::size_t most_lines,
                       std::size_t most_bytes);

} // namespace fiber::actors
