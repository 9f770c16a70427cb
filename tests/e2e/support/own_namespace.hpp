// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace fiber::e2e {

/// The machine can't give this process a namespace of its own; says what is missing.
struct NoNamespace : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Moves this thread, and those that it starts later, into new namespaces (CLONE_NEWNET,
/// CLONE_NEWNS); into one of users as well if this user may not otherwise, for which the
/// process must have but one thread. There it stays, also if the next step fails. Throws
/// NoNamespace.
void enter_own_namespace(int which);

} // namespace fiber::e2e
