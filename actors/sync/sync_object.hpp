// SPDX-License-Identifier: Apache-2.0
#pragma once

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
  std::uint64_t number = 0;       ///< Never used again in its process.
  std::uint32_t pid = 0, tid = 0; ///< As users see it there.
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

/// A lock, semaphore, event, condition or barrier as its home sees it: what state it is
/// in and who waits. It does nothing by itself: every member function says whom to answer
/// what. Who waits is served in turn, as soon as that can be.
///
/// What a process has got is its own from the answer on, whether that arrives or not: if
/// the process goes away, so does its hold.
class SyncObject {
public:
  using Replies = std::vector<SyncReply>;

  SyncObject() = default;
  SyncObject(const SyncObject&) = delete;
  SyncObject& operator=(const SyncObject&) = delete;
  virtual ~SyncObject() = default;

  virtual Replies asked(const Asker& who, const SyncRequest& request) = 0;
  /// Ends the wait of a request: `cancelled`, and then nothing has been done. A condition
  /// answers when the lock is held again. One that has been answered is left alone.
  virtual Replies cancel(const Asker& who) = 0;
  /// That process asks no more, and holds nothing.
  virtual Replies gone(std::uint64_t process) = 0;
  /// Those who have not been answered.
  virtual std::vector<Asker> waiting() const = 0;

protected:
  static SyncReply value(const Asker& who, std::uint64_t value) {
    return {who, Answer::value, value};
  }
  static Replies refuse(const Asker& who, std::string why) {
    return {{who, Answer::refused, 0, std::move(why)}};
  }
  /// Of what this kind can't do.
  static Replies refuse_op(const Asker& who, SyncKind kind, SyncOp op);
};

/// As users call it, with its article.
const char* name_of(SyncKind kind);

/// `n` as SyncKind says.
std::unique_ptr<SyncObject> new_sync_object(SyncKind kind, std::uint64_t n);

// -- the four machines --

/// Lock, Semaphore, BoundedSemaphore: a lock has one permit.
std::unique_ptr<SyncObject> new_permits(SyncKind kind, std::uint64_t n);
/// RLock and Condition: an RLock is one that nobody waits for.
std::unique_ptr<SyncObject> new_monitor(SyncKind kind);
std::unique_ptr<SyncObject> new_event();
std::unique_ptr<SyncObject> new_barrier(std::uint64_t parties);

} // namespace fiber::actors
