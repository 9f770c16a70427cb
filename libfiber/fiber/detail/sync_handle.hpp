// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "fiber/detail/results.hpp"
#include "fiber/detail/sync_op.hpp"
#include "fiber/value.hpp"

// The common part of locks, semaphores, events, conditions and barriers. Programs use
// their headers.

namespace fiber::detail {

class SyncCore;

/// A handle to one of these, valid in any process of the session.
class SyncHandle {
public:
  using TimePoint = Results::Clock::time_point;

  /// A new one whose home is this process. `of_manager`: in the session that a Manager
  /// made here belongs to, which in a job is the job's own. Throws ConfigError if it
  /// can't have that `n`, Closed without a session.
  static SyncHandle open(SyncKind kind, std::uint64_t n, bool of_manager = false);

  /// These throw Closed at the end of its home or of the session, Error if the request is
  /// refused. False: the limit passed first.
  bool acquire(TimePoint limit) const;
  /// Releases what this thread holds. Has no effect at the end of the home or the
  /// session.
  void unlock() const;
  /// Nothing: the limit passed first.
  std::optional<std::uint64_t> wait(TimePoint limit) const;
  /// A request that is answered at once.
  std::uint64_t call(SyncOp op, std::uint64_t n = 0) const;

  /// As in open().
  std::uint64_t n() const;
  bool operator==(const SyncHandle& other) const;
  void fiber_pack(Writer& writer) const;
  /// Throws Error if it is of another kind.
  static SyncHandle unpack(Reader& reader, SyncKind kind);

private:
  explicit SyncHandle(std::shared_ptr<SyncCore> core) : core_(std::move(core)) {}

  std::shared_ptr<SyncCore> core_;
};

/// The base of the public class `Derived`.
template <class Derived, SyncKind kind>
class SyncValue {
public:
  /// Returns whether both are handles to the same object.
  bool operator==(const SyncValue&) const = default;
  /// How the handle travels; called by Fiber, as fiber_unpack() is.
  void fiber_pack(Writer& writer) const { handle_.fiber_pack(writer); }
  static Derived fiber_unpack(Reader& reader) {
    return Derived(SyncHandle::unpack(reader, kind));
  }

protected:
  template <class S>
  friend S sync_of_manager(std::uint64_t n);
  static constexpr SyncKind sync_kind = kind;

  /// A new one whose home is this process. Throws as SyncHandle::open().
  explicit SyncValue(std::uint64_t n) : handle_(SyncHandle::open(kind, n)) {}
  explicit SyncValue(SyncHandle handle) : handle_(std::move(handle)) {}

  SyncHandle handle_;
};

/// A new `S` in the session that a Manager made here belongs to. Throws as
/// SyncHandle::open().
template <class S>
S sync_of_manager(std::uint64_t n) {
  return S(SyncHandle::open(S::sync_kind, n, true));
}

} // namespace fiber::detail
