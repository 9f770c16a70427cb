// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fiber/detail/lockable.hpp"

// Locks between processes, made by Manager::lock() and Manager::rlock(). A lock lives in
// the process that made the Manager, not in the manager's job; a handle goes anywhere:
// bound, as an argument or a result, in containers, through queues. The lock ends with
// its last handle, or with its home: then all throw Closed.
//
// While somebody waits no thread is held in the home. If the process of a holder dies,
// the next one has the lock; whatever the lock guards may be half done then.
//
// Thread safety: any thread of any process may call any member function.

namespace fiber {

/// As Python's multiprocessing.Lock. Not recursive: a thread that has it and locks it
/// again waits. Any thread of any process may unlock it; Error if nobody holds it.
class Lock final : public detail::LockableValue<Lock, detail::SyncKind::lock> {
  using LockableValue::LockableValue;
};

/// As Python's multiprocessing.RLock: the thread that has it may lock it again, and has
/// to unlock it as often. If another one unlocks it that throws Error, which names the
/// thread and process that hold it.
///
/// On an inline session tasks run on the threads that wait for them, so that they hold
/// what those hold.
class RLock final : public detail::LockableValue<RLock, detail::SyncKind::rlock> {
  using LockableValue::LockableValue;
};

} // namespace fiber
