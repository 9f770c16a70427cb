// SPDX-License-Identifier: Apache-2.0
#pragma once

// crash/ reports where a job crashed: the handler in the job, and in the driver the
// parser and the names of functions.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace fiber::actors {

// On SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT a job writes a crash line
// (backends/output/crash_line.hpp) to its stderr and then ends by that signal. The driver
// reads the line with crash_report.hpp.

/// Installs the handlers. A job calls it once, before it runs tasks. Signals that the
/// program or a sanitizer handles are left to them.
void report_crashes();

/// Exit code of a job without a driver, if it leads no process group; else it ends itself
/// and its children with SIGKILL.
inline constexpr int exit_orphan = 73;

/// Writes a crash line with the reason for which this job ends itself: its connection to
/// the driver is gone. For a driver that is still there.
void report_lost_driver(std::string_view why);

/// Gives the calling thread a stack for the handler, so that a stack overflow can be
/// reported too. Does nothing if the thread has one.
class CrashHandlerStack {
public:
  /// The same thread must destroy it.
  CrashHandlerStack();
  ~CrashHandlerStack();
  CrashHandlerStack(const CrashHandlerStack&) = delete;
  CrashHandlerStack& operator=(const CrashHandlerStack&) = delete;

private:
  std::unique_ptr<std::byte[]> memory_; ///< Null if the thread had a stack already.
};

/// Tells the handler which task its thread runs while it lives.
class CrashTask {
public:
  /// `frame` is __builtin_frame_address(0) of the function that runs the task. The report
  /// leaves out that function and its callers.
  CrashTask(std::uint32_t slot, std::uint64_t seq, const void* frame);
  ~CrashTask();
  CrashTask(const CrashTask&) = delete;
  CrashTask& operator=(const CrashTask&) = delete;

  struct Task {
    std::uint32_t slot = 0;
    std::uint64_t seq = 0;
    const void* frame = nullptr; ///< Null if the thread runs no task.
  };

private:
  Task outer_;
};

} // namespace fiber::actors
