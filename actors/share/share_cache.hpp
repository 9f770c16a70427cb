// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "actors/share/shared_memory.hpp"
#include "fiber/detail/shared_object.hpp"
#include "wire/link.hpp"

namespace fiber::actors {

/// A job's copies of shared values. A copy is fetched on first use and kept until the
/// driver says that nobody holds the value any more, so that the next call finds it here.
///
/// Thread safety: any thread may call any member function.
class ShareCache {
public:
  /// Of this process.
  static ShareCache& instance();

  /// Uses `link` from now on: this process is a job. `awaited` is called when a thread
  /// begins to wait for what the link will bring.
  void connect(std::shared_ptr<wire::Link> link, std::function<void()> awaited);
  bool connected() const;
  /// A handle to the value `id`, which may stand at `reader`'s place as shared memory.
  std::shared_ptr<detail::SharedObject> handle(std::uint64_t id, Reader& reader);
  /// The same of a value that is not looked at here.
  std::shared_ptr<detail::SharedObject> hold(std::uint64_t id);
  /// Reads the answer to a fetch.
  void arrived(Reader& reader, const Payload& whole);
  void freed(std::uint64_t id);

private:
  class Copy;
  class Handle;

  std::shared_ptr<detail::SharedObject> handle(std::uint64_t id,
                                               const SharedMemory::Place& place);

  mutable std::mutex mutex_;
  std::shared_ptr<wire::Link> link_;
  std::function<void()> awaited_;
  std::map<std::uint64_t, std::shared_ptr<Copy>> copies_;
};

} // namespace fiber::actors
