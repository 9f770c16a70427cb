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

template <class S>
S open_sync(std::uint64_t n = 0, bool of_manager = false);

/// A handle to one of them, valid in any process of the session.
class SyncHandle {
public:
  using TimePoint = Results::Clock::time_point;

  /// Creates an object whose home is this process. `of_manager` creates it in the session
  /// to which a Manager made here would belong, which in a job is its nested session.
  /// Throws ConfigError if `n` is invalid, Closed without a session.
  static SyncHandle open(SyncKind kind, std::uint64_t n = 0, bool of_manager = false);

  /// These throw Closed once the home or the session has ended, Error if the home
  /// refuses.
  bool acquire(TimePoint limit) const; ///< False: the limit passed first.
  /// Releases this thread's hold. Does nothing once the home or the session has ended.
  void unlock() const;
  /// Returns nothing if the limit passed first.
  std::optional<std::uint64_t> wait(TimePoint limit) const;
  /// Runs an operation that does not wait.
  std::uint64_t call(SyncOp op, std::uint64_t n = 0) const;

  std::uint64_t n() const; ///< The `n` of open().
  bool operator==(const SyncHandle& other) const;
  void fiber_pack(Writer& writer) const;
  /// Throws Error if the handle is of another kind.
  static SyncHandle unpack(Reader& reader, SyncKind kind);

private:
  explicit SyncHandle(std::shared_ptr<SyncCore> core) : core_(std::move(core)) {}

  std::shared_ptr<SyncCore> core_;
};

/// Base of the public handle class `Derived`.
template <class Derived, SyncKind kind>
class SyncValue {
public:
  /// Returns whether both handles refer to the same object.
  bool operator==(const SyncValue&) const = default;
  void fiber_pack(Writer& writer) const { handle_.fiber_pack(writer); }
  static Derived fiber_unpack(Reader& reader) {
    return Derived(SyncHandle::unpack(reader, kind));
  }

protected:
  template <class S>
  friend S open_sync(std::uint64_t n, bool of_manager);
  static constexpr SyncKind sync_kind = kind;

  explicit SyncValue(SyncHandle handle) : handle_(std::move(handle)) {}

  SyncHandle handle_;
};

/// Creates an S whose home is this process, as SyncHandle::open() does:
/// open_sync<Lock>().
template <class S>
S open_sync(std::uint64_t n, bool of_manager) {
  return S(SyncHandle::open(S::sync_kind, n, of_manager));
}

} // namespace fiber::detail
