// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace fiber::backends {

// A crash line is a line of a job's output that tells where the job crashed: output is
// the only channel that every engine keeps open to the end. Backends keep crash lines in
// logs() and do not forward them.

/// The beginning of a crash line, which may follow an unfinished line of the job.
inline constexpr std::string_view crash_mark = "\x1e"
                                               "fiber-crash ";
/// Limit on a crash line with its newline, so that one write() to a pipe is atomic.
inline constexpr std::size_t longest_crash_line = 4096;

/// Removes crash lines from output that comes in arbitrary pieces.
class CrashLineFilter {
public:
  /// Passes the other text to `f`, in pieces. Holds back a few bytes that may begin a
  /// crash line.
  void pass(std::string_view text, const std::function<void(std::string_view)>& f);
  /// Passes on the bytes held back: the output has ended.
  void end(const std::function<void(std::string_view)>& f);

private:
  std::size_t matched_ = 0; // Bytes of the mark at the end of the output so far.
  std::size_t length_ = 0;  // Length so far of the current crash line, or 0.
};

/// Returns `output` without crash lines.
std::string without_crash_lines(std::string_view output);

} // namespace fiber::backends
