// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "actors/protocol/node_protocol.hpp"
#include "actors/share/shared_memory.hpp"
#include "fiber/detail/shared_object.hpp"
#include "wire/link.hpp"

namespace fiber::actors {

/// A job's copies of shared values. A copy is fetched on first use and kept until the
/// driver says that nobody holds the value any more, so that later calls need no fetch.
///
/// Thread safety: any thread may call any member function.
class ShareCache {
public:
  /// Returns the cache of this process.
  static ShareCache& instance();

  /// Makes this process a job, whose link is `link`. `on_wait` is called when a thread
  /// begins to wait for a message of the link.
  void connect(std::shared_ptr<wire::Link> link, std::function<void()> on_wait);
  bool connected() const;
  /// Returns a handle to the value `id`. Reads from `reader` where the value may be
  /// mapped as shared memory.
  std::shared_ptr<detail::SharedObject> handle(std::uint64_t id, Reader& reader);
  /// Returns a handle to a value that this job need not read.
  std::shared_ptr<detail::SharedObject> hold(std::uint64_t id);
  /// Handles Op::shared from the driver, an answer to a fetch.
  void arrived(Reader& reader, const Payload& whole);
  /// Handles Op::shared from another job, which passes the value `id` on. A value with
  /// another digest is not used. Throws Error if the message has another value, or none.
  void passed_on(Reader& reader, const Payload& whole, std::uint64_t id,
                 const detail::Digest& digest);
  /// Another job does not pass the value on to this one: asks the driver for the value,
  /// unless it has arrived. `unreached`: since this job can't connect to that one.
  void not_passed(std::uint64_t id, bool unreached);
  /// Sends the value to another job, or that there is none.
  void pass_on(std::uint64_t id, wire::Link& to);
  /// Puts the value where other jobs of this machine can map it, and tells the driver. In
  /// a thread of its own, since the value may be large.
  void place(std::uint64_t id);
  /// Handles the other answer to a fetch: another job of this machine has the value.
  void mapped(const SharePlace& at);
  /// Drops the copy: nobody holds the value any more.
  void freed(std::uint64_t id);

private:
  class Copy;
  class Handle;

  std::shared_ptr<detail::SharedObject> handle(std::uint64_t id,
                                               const SharedMemory::Place& place);
  std::shared_ptr<Copy> find(std::uint64_t id) const;

  mutable std::mutex mutex_;
  std::shared_ptr<wire::Link> link_;
  std::function<void()> on_wait_;
  std::map<std::uint64_t, std::shared_ptr<Copy>> copies_;
};

} // namespace fiber::actors
