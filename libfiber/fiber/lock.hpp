// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fiber/detail/lockable.hpp"

// Locks between processes. A lock lives in the process that made it, its home; no job is
// started for it. A handle to a lock goes anywhere: bound, as an argument or a result, in
// containers, through queues. The lock ends with its last handle, or with its home; then
// all member functions but unlock() throw Closed.
//
//     fiber::Lock lock;
//     pool.map(fiber::bind(append_line, lock), lines); // Each task locks the same lock.
//
// A waiting thread costs no thread of the home. If the process that holds a lock dies,
// the lock is released, and the next waiting thread gets it. What the lock guards may be
// half changed then.
//
// Thread safety: any thread of any process may call any member function.

namespace fiber {

/// A lock as Python's multiprocessing.Lock. Not recursive: a thread that locks it twice
/// waits for itself. Any thread of any process may unlock it; unlock() throws Error if no
/// thread holds it.
class Lock final : public detail::LockableValue<Lock, detail::SyncKind::lock> {
public:
  /// A new lock that no thread holds, whose home is this process. Throws Closed without a
  /// session.
  Lock() : LockableValue(0) {}

private:
  using LockableValue::LockableValue;
};

/// A recursive lock as Python's multiprocessing.RLock: the thread that holds it may lock
/// it again, and must unlock it as often. unlock() of another thread throws Error, which
/// names the thread and process that hold it.
///
/// On an inline session a task runs on a thread that waits for it, so the task holds the
/// locks that this thread holds.
class RLock final : public detail::LockableValue<RLock, detail::SyncKind::rlock> {
public:
  /// A new lock that no thread holds, whose home is this process. Throws Closed without a
  /// session.
  RLock() : LockableValue(0) {}

private:
  using LockableValue::LockableValue;
};

} // namespace fiber
