// SPDX-License-Identifier: Apache-2.0
#pragma once

// share/ holds shared values: the driver's store, a job's cache of copies, and memory
// that processes of one machine map.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "actors/protocol/node_protocol.hpp"
#include "fiber/bytes.hpp"
#include "fiber/detail/shared_object.hpp"
#include "wire/link.hpp"

namespace fiber::actors {

/// The driver's shared values, the jobs that hold each, and the jobs that have a copy.
///
/// A value lives while this process has a handle to it (also in packed arguments) or a
/// job retains it. Thread safety: any thread may call any member function.
class ShareStore : public std::enable_shared_from_this<ShareStore> {
public:
  /// `most` is the size in bytes of the largest value that may be sent.
  explicit ShareStore(std::size_t most = max_value_bytes) : most_(most) {}

  /// The value's number can't be guessed: whoever knows the number may fetch the value.
  /// Throws Error if the value is too large to be sent.
  std::shared_ptr<detail::SharedObject> add(Bytes packed,
                                            std::shared_ptr<const void> value);
  /// Copies `bytes` into sealed memory, which other processes of this machine can map.
  /// There may be more bytes than can be sent.
  std::shared_ptr<detail::SharedObject> add_array(std::span<const std::byte> bytes);
  /// Returns null if the value is freed.
  std::shared_ptr<detail::SharedObject> find(std::uint64_t id);

  // -- requests of jobs --

  /// Answers a job, and returns how many bytes of the value were sent. The first job of a
  /// machine is sent the value; others are told where that job has it in memory, once
  /// that is known. Sends that there is none if it is freed or too large.
  std::size_t fetch(const ShareFetch& wanted, std::uint64_t incarnation,
                    const std::shared_ptr<wire::Link>& link);
  /// Takes a job's answer to Op::share_memory.
  void placed(const SharePlace& at, std::uint64_t incarnation);
  void retain(std::uint64_t id, std::uint64_t incarnation,
              std::weak_ptr<wire::Link> link);
  void release(std::uint64_t id, std::uint64_t incarnation);
  void job_gone(std::uint64_t incarnation);

private:
  class Object;
  struct Fetcher {
    std::uint64_t incarnation = 0;
    std::weak_ptr<wire::Link> link;
  };
  /// The copy that the jobs of one machine share.
  struct MachineCopy {
    Fetcher holder;         ///< The job that was sent the value.
    bool asked = false;     ///< Whether it was asked to put the value into memory.
    MemoryPlace place = {}; ///< `fd` is -1 until it has answered.
    std::vector<Fetcher> waiting;
  };
  struct Entry {
    std::weak_ptr<Object> object;
    std::map<std::uint64_t, std::weak_ptr<wire::Link>> copies; ///< By incarnation.
    std::map<std::uint64_t, MachineCopy> machines;
  };
  struct Retained {
    std::size_t count = 0;
    std::shared_ptr<Object> object;
  };

  std::shared_ptr<Object> enter(std::shared_ptr<Object> object);
  void freed(std::uint64_t id);
  std::size_t send(std::uint64_t id, wire::Link& link);
  bool share_within_machine(const ShareFetch& wanted, const Fetcher& fetcher);

  const std::size_t most_;
  std::mutex mutex_;
  std::map<std::uint64_t, Entry> entries_;
  std::map<std::uint64_t, std::map<std::uint64_t, Retained>>
    retained_; ///< By incarnation, then id.
};

} // namespace fiber::actors
