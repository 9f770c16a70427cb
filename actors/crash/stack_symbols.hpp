// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "actors/crash/crash_report.hpp"
#include "base/stack_text.hpp"

namespace fiber::actors {

/// The stack, with names, of a task that crashed in another process of this build. Names
/// are looked up on first use, since that reads debug information and few crashes are
/// looked at.
///
/// Thread safety: any thread may call any member function.
class CrashStack final : public detail::StackText {
public:
  explicit CrashStack(std::vector<CrashReport::Frame> frames)
    : frames_(std::move(frames)) {}

  const std::string& text() const override;
  const std::string& below(const std::string& sentence) const override;

private:
  void name() const;

  const std::vector<CrashReport::Frame> frames_;
  mutable std::once_flag named_, below_made_;
  mutable std::vector<std::string> lines_;
  mutable std::string text_, below_;
};

} // namespace fiber::actors
