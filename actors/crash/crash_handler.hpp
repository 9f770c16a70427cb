// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace fiber::actors {

// How a job tells where it crashes: on SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT it
// writes a crash line (backends/output/crash_line.hpp) to its stderr, then ends by that
// signal as it would have. The driver reads it with crash_report.hpp.

/// For a job, before it runs tasks; once. Signals that the program, or a sanitizer, has
/// handlers for are left to them.
void report_crashes();

/// A stack for the handler, so that a thread that has used up its own can be told of too.
/// Leaves one that is there alone.
class CrashHandlerStack {
public:
  /// For the thread that makes it, which must also destroy it.
  CrashHandlerStack();
  ~CrashHandlerStack();
  CrashHandlerStack(const CrashHandlerStack&) = delete;
  CrashHandlerStack& operator=(const CrashHandlerStack&) = delete;

private:
  std::unique_ptr<std::byte[]> memory_; ///< Null: the thread had one.
};

/// While it lives, its thread runs this task.
class CrashTask {
public:
  /// `frame` is __builtin_frame_address(0) of the function that runs the task: neither
  /// it nor what called it is of interest.
  CrashTask(std::uint32_t slot, std::uint64_t seq, const void* frame);
  ~CrashTask();
  CrashTask(const CrashTask&) = delete;
  CrashTask& operator=(const CrashTask&) = delete;

  struct Task {
    std::uint32_t slot = 0;
    std::uint64_t seq = 0;
    const void* frame = nullptr; ///< Null: none.
  };

private:
  Task outer_;
};

} // namespace fiber::actors
