// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fiber::detail {

/// The stack of a task that crashed in another process, as text. WorkerLost holds it; the
/// symbols are looked up when somebody asks (actors/crash/crash_stack.hpp).
///
/// Thread safety: any thread may call any member function.
class StackText {
public:
  virtual ~StackText() = default;
  /// One call a line, innermost first.
  virtual const std::string& text() const = 0;
  /// `sentence`, and the first calls on the lines below. The same sentence each time.
  virtual const std::string& below(const std::string& sentence) const = 0;
};

} // namespace fiber::detail
