// SPDX-License-Identifier: Apache-2.0
// sync/ implements locks, semaphores, events, conditions and barriers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "actors/sync/sync_object.hpp"
#include "fiber/detail/sync_handle.hpp"
#include "libfiber/objects/object_core.hpp"

namespace fiber::detail {

/// The shared state of the handles of a lock, semaphore, event, condition or barrier in
/// this process.
class SyncCore final : public ObjectCore {
public:
  static std::shared_ptr<SyncCore> open(SyncKind kind, std::uint64_t n, bool of_manager);
  static std::shared_ptr<SyncCore> unpack(Reader& reader, SyncKind kind);
  void pack(Writer& writer) const;

  // See SyncHandle.
  bool acquire(Clock::time_point limit);
  void unlock();
  std::optional<std::uint64_t> wait(Clock::time_point limit);
  std::uint64_t call(SyncOp op, std::uint64_t n);
  std::uint64_t n() const { return n_; }

private:
  SyncCore(const ObjectPlace& place, std::shared_ptr<actors::ObjectHandle> held,
           SyncKind kind, std::uint64_t n)
    : ObjectCore(place, std::move(held)), kind_(kind), n_(n) {}
  /// Returns this process's SyncCore of the object, which all handles share.
  static std::shared_ptr<SyncCore> of(const ObjectPlace& place,
                                      const std::shared_ptr<actors::ObjectHandle>& held,
                                      SyncKind kind, std::uint64_t n);

  /// Sends a request. Returns the answer's value, 0 if it has none, or nothing if the
  /// limit passed first.
  std::optional<std::uint64_t> run(SyncOp op, std::uint64_t n, Clock::time_point limit);
  [[noreturn]] void fail_closed() const override;

  const SyncKind kind_;
  const std::uint64_t n_;
};

} // namespace fiber::detail
