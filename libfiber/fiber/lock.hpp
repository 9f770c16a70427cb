// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fiber/detail/lockable.hpp"

// Locks between processes, made by Manager::lock() and Manager::rlock(). A lock lives in
// the process that made the Manager, its home, and not in the manager's job. A handle to
// it goes anywhere: bound, as an argument or a result, in containers, through queues. The
// lock ends with its last handle, or with its home; then all member functions but
// unlock() throw Closed.
//
// A waiting thread costs no thread of the home. If the process that holds a lock dies,
// the next one gets the lock; what the lock guards may be half changed then.
//
// Thread safety: any thread of any process may call any member function.

namespace fiber {

/// A lock as Python's multiprocessing.Lock. Not recursive: a thread that locks it twice
/// waits for itself. Any thread of any process may unlock it; unlock() throws Error if
/// nobody holds it.
class Lock final : public detail::LockableValue<Lock, detail::SyncKind::lock> {
  using LockableValue::LockableValue;
};

/// A recursive lock as Python's multiprocessing.RLock: the thread that holds it may lock
/// it again, and must unlock it as often. unlock() of another thread throws Error, which
/// names the thread and process that hold it.
///
/// On an inline session a task runs on a thread that waits for it, so the task holds the
/// locks that this thread holds.
class RLock final : public detail::LockableValue<RLock, detail::SyncKind::rlock> {
  using LockableValue::LockableValue;
};

} // namespace fiber
