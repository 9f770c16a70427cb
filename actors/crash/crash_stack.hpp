// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "actors/crash/crash_report.hpp"

namespace fiber::detail {

/// The stack of a task that crashed in another process of this build, with names. They
/// are looked up when somebody asks: that means reading debug information, and of most
/// crashes nobody wants to know.
///
/// Thread safety: any thread may call any member function.
class CrashStack {
public:
  explicit CrashStack(std::vector<actors::CrashReport::Frame> frames)
    : frames_(std::move(frames)) {}

  /// One call a line, innermost first.
  const std::string& text() const;
  /// `sentence`, and its first calls below. The same sentence each time.
  const std::string& below(const std::string& sentence) const;

private:
  void name() const;

  const std::vector<actors::CrashReport::Frame> frames_;
  mutable std::once_flag named_, below_made_;
  mutable std::vector<std::string> lines_;
  mutable std::string text_, below_;
};

} // namespace fiber::detail
