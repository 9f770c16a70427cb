// SPDX-License-Identifier: Apache-2.0
#pragma once

// share/ holds shared values: the driver's store, a job's cache of copies, and memory
// that processes of one machine map.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "actors/protocol/node_protocol.hpp"
#include "actors/share/share_spread.hpp"
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

  /// Handles what a job says about shared values: Op::fetch, share_waits, share_arrived,
  /// share_place, share_listens, retain and release. Returns how many bytes of values
  /// were sent. Throws Error on anything malformed.
  std::size_t heard(std::uint64_t incarnation, Op op, Reader& reader,
                    const std::shared_ptr<wire::Link>& link);
  /// The job is fenced: others no longer wait for it. It may still hold values.
  void job_fenced(std::uint64_t incarnation);
  /// The job holds no value any more.
  void job_gone(std::uint64_t incarnation);
  /// See call_to_dial(). Call it before the first job.
  void allow_tunnels() { tunnels_ = true; }

private:
  class Object;
  using Job = ShareSpread::Job;
  struct Entry {
    std::weak_ptr<Object> object;
    std::map<std::uint64_t, std::weak_ptr<wire::Link>> copies; ///< By incarnation.
    std::optional<ShareSpread> spread; ///< None if the value is small, or too large.
  };
  struct Retained {
    std::size_t count = 0;
    std::shared_ptr<Object> object;
  };

  std::shared_ptr<Object> enter(std::shared_ptr<Object> object);
  void freed(std::uint64_t id);
  std::size_t fetch(const ShareFetch& wanted, const Job& job);
  /// Asks the spread of a value, if that is not freed, and takes the steps it returns.
  template <class Ask>
  std::size_t spread(std::uint64_t id, Ask ask);
  void make_digest(std::uint64_t id);
  std::size_t take(std::uint64_t id, const ShareSpread::Steps& steps);
  std::size_t send(std::uint64_t id, wire::Link& link);
  void retain(std::uint64_t id, const Job& job);
  void release(std::uint64_t id, std::uint64_t incarnation);

  const std::size_t most_;
  bool tunnels_ = false;
  std::mutex mutex_;
  SharePassing passing_;
  std::map<std::uint64_t, Entry> entries_;
  std::map<std::uint64_t, std::map<std::uint64_t, Retained>>
    retained_; ///< By incarnation, then id.
};

} // namespace fiber::actors
