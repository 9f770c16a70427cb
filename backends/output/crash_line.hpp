// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace fiber::backends {

// A job that crashes says where in a line of its output, as this is the one way that
// every engine keeps open to the last. Backends keep such lines in logs() and leave them
// out of what they forward.

/// How such a line begins. It may follow the beginning of a line of the job's own.
inline constexpr std::string_view crash_mark = "\x1e"
                                               "fiber-crash ";
/// No such line is longer, its newline included: one write() to a pipe then is not torn.
inline constexpr std::size_t longest_crash_line = 4096;

/// Takes crash lines out of output, however it is cut into pieces.
class CrashLineFilter {
public:
  /// Hands what is not of such a line to `f`, in pieces. A few bytes that may be the
  /// beginning of one wait for the rest.
  void pass(std::string_view text, const std::function<void(std::string_view)>& f);
  /// Nothing more comes: hands over what has waited.
  void end(const std::function<void(std::string_view)>& f);

private:
  std::size_t matched_ = 0; // Of the mark, at the end of what came.
  std::size_t length_ = 0;  // Of the line that is being left out; 0: none is.
};

/// What a job wrote itself.
std::string without_crash_lines(std::string_view output);

} // namespace fiber::backends
