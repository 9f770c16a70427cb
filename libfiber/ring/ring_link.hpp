// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gloo/rendezvous/context.h>

#include "fiber/bytes.hpp"
#include "fiber/ring_member.hpp"
#include "libfiber/ring/ring_desk.hpp"
#include "libfiber/ring/ring_memory.hpp"
#include "libfiber/ring/ring_step.hpp"

namespace fiber::detail {

/// A member's connections to the other members by Gloo, the memory that it shares with
/// them if all are on one machine, and the operations over them: collectives in memory if
/// there is one, the rest over Gloo. A ring of one has neither.
class RingLink {
public:
  /// Returns when all members are connected. Throws actors::RingBroken if one was lost
  /// meanwhile, ConfigError if the members may not talk over a network.
  explicit RingLink(const RingSeat& seat);
  ~RingLink();

  // See RingMember.
  void leave();
  [[noreturn]] void rethrow();
  void barrier();
  void broadcast(void* values, std::size_t n, RingType type, std::size_t root);
  void allreduce(void* values, std::size_t n, RingType type, RingOp op);
  void allgather(const void* values, std::size_t n, RingType type, void* all);
  void reduce_scatter(const void* values, std::size_t n, RingType type, RingOp op,
                      void* part);
  void send(const void* values, std::size_t n, RingType type, std::size_t to);
  void recv(void* values, std::size_t n, RingType type, std::size_t from);
  const std::shared_ptr<gloo::rendezvous::Context>& context();

private:
  using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;
  /// A message in flight to another member.
  struct Message {
    Bytes bytes;
    Buffer buffer;
  };

  void connect(const std::shared_ptr<gloo::rendezvous::Store>& store);
  std::unique_ptr<RingMemory> meet_in_memory();
  bool all_agree(bool yes);
  /// Calls `f`, which uses Gloo, and translates its exceptions. `what` names the
  /// operation.
  template <class F>
  void run(const char* what, F f);
  /// The same for an operation of all members, which is counted for observers.
  template <class F>
  void collective(const char* what, F f);
  [[noreturn]] void fail(const char* what, const std::string& why);
  void compare(const RingStep& own);
  void check_other(const char* what, std::size_t rank) const;
  Buffer buffer(const void* data, std::size_t bytes);
  void gather(const void* values, std::size_t bytes, void* all);
  void give(const void* values, std::size_t bytes, std::size_t to);
  void take(void* values, std::size_t bytes, std::size_t from);
  void broadcast_by_gloo(void* values, std::size_t bytes, std::size_t root);
  void allreduce_by_gloo(std::byte* values, std::size_t n, RingType type, RingOp op);
  void allgather_by_gloo(const void* values, std::size_t bytes, void* all);
  void scatter_by_gloo(const std::byte* values, std::size_t n, RingType type, RingOp op,
                       std::byte* part);
  void reduce_by_doubling(std::byte* values, std::size_t n, RingType type, RingOp op);

  const std::size_t rank_, size_;
  const bool checks_;      ///< RingOptions::check.
  const std::string host_; ///< Where Gloo listens.
  std::shared_ptr<RingDesk> desk_;
  std::shared_ptr<gloo::rendezvous::Context> context_;
  std::unique_ptr<RingMemory> memory_; ///< Null if the members can't share any.
  std::uint32_t tag_ = 0;              ///< Tag of the last collective.
  std::uint64_t collectives_ = 0;
  std::uint64_t compared_ = 0;                           ///< Counts calls of compare().
  std::chrono::steady_clock::time_point report_at_ = {}; ///< Not before.
  std::deque<Message> sent_;
  std::size_t sent_bytes_ = 0;
  std::optional<std::string> broken_; ///< Why no collective works any more.
};

} // namespace fiber::detail
