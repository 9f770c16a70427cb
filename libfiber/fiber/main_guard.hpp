// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <type_traits>

namespace fiber {

namespace detail {

/// Prints "error: " and what() to stderr, and returns 1.
int report_error(const std::exception& error) noexcept;

} // namespace detail

/// Runs the body of main and returns the program's exit code: what body() returns, or 0
/// if it returns nothing. If body() throws a std::exception, prints "error: " and what()
/// to stderr and returns 1. Other exceptions pass.
///
///     int main(int argc, char** argv) {
///       return fiber::main_guard([&] {
///         auto session = fiber::init(argc, argv);
///         ...
///       });
///     }
///
/// Use it in programs whose users shall read what went wrong: a setting that can't be
/// used, an engine that can't be reached, a task that failed. The Session belongs in
/// body(): then its destructor ends every job before the error is printed. As always it
/// first waits for each Process that is no daemon; make a daemon of one that would wait
/// for this program.
///
/// Without the guard an exception that is not caught ends the program by
/// std::terminate. That is better for finding a bug, as a debugger and a core dump show
/// the throw.
///
/// In a job init() never returns, so the guard only sees what is thrown before init().
template <class F>
int main_guard(F&& body) {
  using R = std::invoke_result_t<F&>;
  static_assert(std::is_void_v<R> || std::is_same_v<R, int>,
                "fiber: the body of main_guard() returns the exit code, an int, or "
                "nothing");
  try {
    if constexpr (std::is_void_v<R>) {
      std::invoke(body);
      return 0;
    } else {
      return std::invoke(body);
    }
  } catch (const std::exception& error) {
    return detail::report_error(error);
  }
}

} // namespace fiber
