// SPDX-License-Identifier: Apache-2.0
#pragma once

// sync/ is the home of locks, semaphores, events, conditions and barriers that processes
// share: state machines without messages or threads, and the actor that serves them.

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "actors/protocol/object_protocol.hpp"
#include "fiber/detail/sync_op.hpp"

namespace fiber::actors {

using detail::SyncKind;
using detail::SyncOp;

/// A thread of a process.
struct SyncThread {
  std::uint64_t number = 0;       ///< Unique within its process, for good.
  std::uint32_t pid = 0, tid = 0; ///< For messages to users.
  bool operator==(const SyncThread&) const = default;
};

/// The body of an AskKind::call.
struct SyncRequest {
  SyncOp op = SyncOp::acquire;
  SyncThread thread = {};
  std::uint64_t n = 0;
};
void write(Writer& writer, const SyncRequest& request);
/// Throws Error on anything malformed.
SyncRequest read_sync_request(Reader& reader);

struct SyncReply {
  Asker to;
  Answer what = Answer::done;
  std::uint64_t value = 0; ///< For Answer::value.
  std::string why = {};    ///< For Answer::refused.
};

/// A lock, semaphore, event, condition or barrier: its state and the requests that wait.
/// It sends nothing by itself: every member function returns the replies to send. Waiting
/// requests are served in order of arrival, as soon as possible.
///
/// A process holds what it was granted from the answer on, whether the answer arrives or
/// not. When the process is gone, what it held is released.
class SyncObject {
public:
  using Replies = std::vector<SyncReply>;

  SyncObject() = default;
  SyncObject(const SyncObject&) = delete;
  SyncObject& operator=(const SyncObject&) = delete;
  virtual ~SyncObject() = default;

  virtual Replies asked(const Asker& who, const SyncRequest& request) = 0;
  /// Ends the wait of a request, which then has had no effect and is answered
  /// `cancelled`. A wait for a condition is answered when the lock is reacquired. Does
  /// nothing if the request was answered.
  virtual Replies cancel(const Asker& who) = 0;
  /// Forgets the requests of the process and releases what it holds.
  virtual Replies gone(std::uint64_t process) = 0;
  /// Returns the requests that have not been answered.
  virtual std::vector<Asker> waiting() const = 0;

protected:
  static SyncReply value(const Asker& who, std::uint64_t value) {
    return {who, Answer::value, value};
  }
  static Replies refuse(const Asker& who, std::string why) {
    return {{who, Answer::refused, 0, std::move(why)}};
  }
  /// Refuses an operation that this kind does not have.
  static Replies refuse_op(const Asker& who, SyncKind kind, SyncOp op);
};

/// Returns the name that users know, with its article.
const char* name_of(SyncKind kind);

/// Makes an object of this kind. SyncKind says what `n` is.
std::unique_ptr<SyncObject> new_sync_object(SyncKind kind, std::uint64_t n);

// -- the four state machines --

/// For Lock, Semaphore and BoundedSemaphore. A lock has one permit.
std::unique_ptr<SyncObject> new_permits(SyncKind kind, std::uint64_t n);
/// For RLock and Condition. An RLock is a condition that cannot be waited for.
std::unique_ptr<SyncObject> new_monitor(SyncKind kind);
std::unique_ptr<SyncObject> new_event();
std::unique_ptr<SyncObject> new_barrier(std::uint64_t parties);

} // namespace fiber::actors
