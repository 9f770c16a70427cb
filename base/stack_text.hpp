// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fiber::detail {

/// The stack of a task that crashed in another process, as text. WorkerLost holds it.
/// Symbols are looked up on first use (actors/crash/stack_symbols.hpp).
///
/// Thread safety: any thread may call any member function.
class StackText {
public:
  virtual ~StackText() = default;
  /// Returns the stack, one call per line, innermost first.
  virtual const std::string& text() const = 0;
  /// Returns `sentence` with the first calls on the lines below it. Every call must pass
  /// the same sentence.
  virtual const std::string& below(const std::string& sentence) const = 0;
};

} // namespace fiber::detail
