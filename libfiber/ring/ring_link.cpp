// SPDX-License-Identifier: Apache-2.0
#include "libfiber/ring/ring_link.hpp"

#include <bit>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/rendezvous/hash_store.h>
#include <gloo/transport/tcp/device.h>

#include "actors/objects/this_job.hpp"
#include "actors/ring/ring_attempt.hpp"
#include "base/harmless_signal.hpp"
#include "fiber/error.hpp"
#include "libfiber/ring/ring_math.hpp"
#include "libfiber/ring/round_collectives.hpp"
#include "wire/error.hpp"
#include "wire/own_address.hpp"

namespace fiber::detail {
namespace {

/// Gloo's timeout, a last resort: the job's supervision notices a lost member much
/// earlier.
constexpr std::chrono::hours longest_wait{24};

/// How often rank 0 tells the driver how many collectives there were.
constexpr std::chrono::seconds report_interval{1};

/// Limits on the messages that send() leaves in flight.
constexpr std::size_t max_messages = 64, max_bytes = std::size_t{64} << 20;

constexpr std::uint64_t message_slot = std::uint64_t{0xf0} << 56,
                        scatter_slot = std::uint64_t{0xf1} << 56,
                        doubling_slot = std::uint64_t{0xf2} << 56;

/// Up to here an allreduce costs mostly rounds, beyond it mostly bytes.
constexpr std::size_t max_doubling_bytes = 256 * 1024;

/// Returns the address at which the other members reach this one.
std::string own_address(const RingSeat& seat) {
  auto* job = actors::ThisJob::get();
  if (seat.size == 1 || job == nullptr || job->driver_host.empty())
    return wire::loopback_address();
  auto host = job->own_address();
  if (seat.plaintext == 0 && !wire::is_loopback(host))
    throw ConfigError("ring_plaintext", "the settings",
                      "true, if nobody else can listen there",
                      "a member of the ring would talk to the others from " + host +
                        ", by Gloo, which does not encrypt");
  return host;
}

/// Older versions of Gloo take the store by reference.
template <class Context, class Device>
void connect_all(Context& context, const std::shared_ptr<gloo::rendezvous::Store>& store,
                 Device& device) {
  if constexpr (requires { context.connectFullMesh(store, device); })
    context.connectFullMesh(store, device);
  else
    context.connectFullMesh(*store, device);
}

} // namespace

RingLink::RingLink(const RingSeat& seat)
  : rank_(seat.rank), size_(seat.size), checks_(seat.check != 0),
    host_(own_address(seat)) {
  if (size_ == 1)
    return;
  make_harmless(SIGPIPE); // A write to a lost member must not kill this one.
  desk_ = RingDesk::of(seat);
  try {
    connect(std::make_shared<RingStore>(desk_));
    memory_ = meet_in_memory();
  } catch (const gloo::Exception& error) {
    throw actors::RingBroken(error.what());
  }
}

RingLink::~RingLink() = default;

void RingLink::connect(const std::shared_ptr<gloo::rendezvous::Store>& store) {
  auto device = gloo::transport::tcp::CreateDevice(host_.c_str());
  auto context = std::make_shared<gloo::rendezvous::Context>(static_cast<int>(rank_),
                                                             static_cast<int>(size_));
  context->setTimeout(longest_wait);
  connect_all(*context, store, device);
  context_ = std::move(context);
}

/// Returns the memory that all members have mapped; null if one can't map it, or does not
/// see the processes of all others: it is on another machine, or in a container.
std::unique_ptr<RingMemory> RingLink::meet_in_memory() {
  std::unique_ptr<RingMemory> memory;
  MemoryPlace place;
  if (rank_ == 0 && (memory = RingMemory::make(size_)))
    place = memory->place();
  broadcast_by_gloo(&place, sizeof place, 0);
  if (rank_ != 0)
    memory = RingMemory::open(place, rank_, size_);
  if (!all_agree(memory != nullptr) || !all_agree(memory->sees_all()))
    return nullptr;
  return memory;
}

bool RingLink::all_agree(bool yes) {
  std::int32_t agreed = yes ? 1 : 0;
  reduce_by_doubling(reinterpret_cast<std::byte*>(&agreed), 1, RingType::i32,
                     RingOp::min);
  return agreed != 0;
}

const std::shared_ptr<gloo::rendezvous::Context>& RingLink::context() {
  if (!context_) // The only member connects when the program first asks for the context.
    connect(std::make_shared<gloo::rendezvous::HashStore>());
  return context_;
}

// -- the end --

void RingLink::leave() {
  if (!desk_)
    return;
  compare({.call = RingStep::Call::leave});
  if (rank_ == 0)
    desk_->report(collectives_);
  desk_->leave();
}

void RingLink::rethrow() {
  try {
    throw;
  } catch (const gloo::IoException& error) { // Thrown by the program's own use of gloo().
    throw actors::RingBroken(error.what());
  } catch (...) {
    if (broken_)
      throw actors::RingBroken(*broken_);
    throw;
  }
}

template <class F>
void RingLink::run(const char* what, F f) {
  if (broken_)
    fail(what, *broken_);
  try {
    f();
  } catch (const gloo::IoException& error) {
    broken_ = error.what();
    fail(what, *broken_);
  } catch (const actors::RingBroken& error) { // Thrown by the rounds in memory.
    broken_ = error.what();
    fail(what, *broken_);
  } catch (const gloo::Exception& error) {
    throw Error(std::string(what) + " in a ring: " + error.what());
  }
}

template <class F>
void RingLink::collective(const char* what, F f) {
  run(what, std::move(f));
  ++collectives_;
  if (rank_ != 0)
    return;
  auto now = std::chrono::steady_clock::now();
  if (now < report_at_)
    return;
  report_at_ = now + report_interval;
  desk_->report(collectives_);
}

void RingLink::fail(const char* what, const std::string& why) {
  throw WorkerLost(std::string(what) + " in a ring: the connection to another member " +
                     "broke; let this out of the function, so that the ring can be "
                     "formed again: " +
                     why,
                   rank_, {std::nullopt}, why, {});
}

void RingLink::check_other(const char* what, std::size_t rank) const {
  if (rank >= size_ || rank == rank_)
    throw Error(std::string(what) + " rank " + std::to_string(rank) + " by rank " +
                std::to_string(rank_) + " of a ring of " + std::to_string(size_) +
                (rank == rank_ ? ": that is itself" : ": there is none"));
}

RingLink::Buffer RingLink::buffer(const void* data, std::size_t bytes) {
  return context_->createUnboundBuffer(const_cast<void*>(data), bytes);
}

// -- collectives --

/// With RingOptions::check, exchanges what the members call. Throws Error, at all of
/// them, if that differs. To be called even if a member has no values to exchange, since
/// another one may have some.
void RingLink::compare(const RingStep& own) {
  if (!checks_ || size_ == 1)
    return;
  std::vector<RingStep> all(size_);
  run(name_of(own.call), [&] { gather(&own, sizeof own, all.data()); });
  ++compared_;
  if (auto text = difference(all))
    throw Error("the members of a ring disagree in collective " +
                std::to_string(compared_) + ": " + *text +
                "; all members must make the same calls");
}

void RingLink::barrier() {
  if (size_ == 1)
    return;
  compare({.call = RingStep::Call::barrier});
  collective("barrier", [&] {
    if (memory_)
      return memory_->rounds().exchange();
    gloo::BarrierOptions options(context_);
    options.setTag(++tag_);
    gloo::barrier(options);
  });
}

void RingLink::broadcast(void* values, std::size_t n, RingType type, std::size_t root) {
  if (root >= size_)
    throw Error("broadcast from rank " + std::to_string(root) + " of a ring of " +
                std::to_string(size_) + ": there is none");
  compare({.n = n,
           .root = static_cast<std::uint32_t>(root),
           .call = RingStep::Call::broadcast,
           .type = type});
  if (size_ == 1 || n == 0)
    return;
  const auto bytes = n * size_of(type);
  collective("broadcast", [&] {
    if (memory_)
      detail::broadcast(memory_->rounds(), static_cast<std::byte*>(values), bytes, root);
    else
      broadcast_by_gloo(values, bytes, root);
  });
}

void RingLink::broadcast_by_gloo(void* values, std::size_t bytes, std::size_t root) {
  gloo::BroadcastOptions options(context_);
  options.setOutput(static_cast<char*>(values), bytes);
  options.setRoot(static_cast<int>(root));
  options.setTag(++tag_);
  gloo::broadcast(options);
}

void RingLink::allreduce(void* values, std::size_t n, RingType type, RingOp op) {
  compare({.n = n, .call = RingStep::Call::allreduce, .type = type, .op = op});
  if (size_ == 1 || n == 0)
    return;
  auto* bytes = static_cast<std::byte*>(values);
  collective("allreduce", [&] {
    if (memory_)
      detail::allreduce(memory_->rounds(), bytes, n, type, op);
    else if (n * size_of(type) <= max_doubling_bytes)
      reduce_by_doubling(bytes, n, type, op);
    else
      allreduce_by_gloo(bytes, n, type, op);
  });
  if (op == RingOp::mean)
    divide(values, n, type, size_);
}

void RingLink::allreduce_by_gloo(std::byte* values, std::size_t n, RingType type,
                                 RingOp op) {
  gloo::AllreduceOptions options(context_);
  if (size_of(type) == sizeof(std::int32_t))
    options.setOutput(reinterpret_cast<std::int32_t*>(values), n);
  else
    options.setOutput(reinterpret_cast<std::int64_t*>(values), n);
  options.setReduceFunction(ring_reduce(type, op));
  options.setTag(++tag_);
  gloo::allreduce(options);
}

/// Recursive doubling (Thakur, Rabenseifner and Gropp, "Optimization of Collective
/// Communication Operations in MPICH", 2005, section 4.4): log2(size) rounds, where
/// Gloo's ring has 2 (size - 1). In each round two members swap all values. Members
/// beyond a power of two give theirs to a partner before and get the result after.
void RingLink::reduce_by_doubling(std::byte* values, std::size_t n, RingType type,
                                  RingOp op) {
  auto bytes = n * size_of(type);
  Bytes heard(bytes);
  auto out = buffer(values, bytes), in = buffer(heard.data(), bytes);
  auto reduce = ring_reduce(type, op);
  auto give = [&](std::size_t to) {
    out->send(static_cast<int>(to), doubling_slot);
    out->waitSend(context_->getTimeout());
  };
  auto take = [&](Buffer& where, std::size_t from) {
    where->recv(static_cast<int>(from), doubling_slot);
    where->waitRecv(context_->getTimeout());
  };
  const auto doubled = std::bit_floor(size_);
  if (rank_ >= doubled) {
    give(rank_ - doubled);
    take(out, rank_ - doubled);
    return;
  }
  const auto partner = rank_ + doubled;
  if (partner < size_) {
    take(in, partner);
    reduce(values, values, heard.data(), n);
  }
  for (std::size_t bit = 1; bit < doubled; bit *= 2) {
    auto peer = rank_ ^ bit;
    in->recv(static_cast<int>(peer), doubling_slot);
    give(peer);
    in->waitRecv(context_->getTimeout());
    // Both in the same order, so that both get the same bits.
    if (rank_ < peer)
      reduce(values, values, heard.data(), n);
    else
      reduce(values, heard.data(), values, n);
  }
  if (partner < size_)
    give(partner);
}

void RingLink::allgather(const void* values, std::size_t n, RingType type, void* all) {
  compare({.n = n, .call = RingStep::Call::allgather, .type = type});
  if (n == 0)
    return;
  const auto bytes = n * size_of(type);
  if (size_ == 1) {
    std::memcpy(all, values, bytes);
    return;
  }
  collective("allgather", [&] { gather(values, bytes, all); });
}

void RingLink::gather(const void* values, std::size_t bytes, void* all) {
  if (memory_)
    detail::allgather(memory_->rounds(), static_cast<const std::byte*>(values), bytes,
                      static_cast<std::byte*>(all));
  else
    allgather_by_gloo(values, bytes, all);
}

void RingLink::allgather_by_gloo(const void* values, std::size_t bytes, void* all) {
  gloo::AllgatherOptions options(context_);
  options.setInput(static_cast<char*>(const_cast<void*>(values)), bytes);
  options.setOutput(static_cast<char*>(all), bytes * size_);
  options.setTag(++tag_);
  gloo::allgather(options);
}

void RingLink::reduce_scatter(const void* values, std::size_t n, RingType type, RingOp op,
                              void* part) {
  compare({.n = n, .call = RingStep::Call::reduce_scatter, .type = type, .op = op});
  if (n == 0)
    return;
  if (size_ == 1) {
    std::memcpy(part, values, n * size_of(type));
    return;
  }
  auto* from = static_cast<const std::byte*>(values);
  auto* to = static_cast<std::byte*>(part);
  collective("reduce_scatter", [&] {
    if (memory_)
      detail::reduce_scatter(memory_->rounds(), from, n, type, op, to);
    else
      scatter_by_gloo(from, n, type, op, to);
  });
  if (op == RingOp::mean)
    divide(part, ring_part(n, size_, rank_).n, type, size_);
}

/// Written by hand, because Gloo lacks one for any number of members whose slots last.
/// Each part travels once around the ring, starting at its owner's successor, and
/// accumulates the values of the others.
void RingLink::scatter_by_gloo(const std::byte* values, std::size_t n, RingType type,
                               RingOp op, std::byte* part) {
  auto width = size_of(type);
  Bytes work(values, values + n * width);
  Bytes heard(ring_part(n, size_, 0).n * width);
  auto reduce = ring_reduce(type, op);
  auto part_of = [&](std::size_t rank) { return ring_part(n, size_, rank % size_); };
  auto out = buffer(work.data(), work.size());
  auto in = buffer(heard.data(), heard.size());
  auto next = static_cast<int>((rank_ + 1) % size_);
  auto last = static_cast<int>((rank_ + size_ - 1) % size_);
  for (std::size_t step = 1; step < size_; ++step) {
    auto gives = part_of(rank_ + size_ - step);
    auto takes = part_of(rank_ + 2 * size_ - step - 1);
    if (takes.n > 0)
      in->recv(last, scatter_slot, 0, takes.n * width);
    if (gives.n > 0)
      out->send(next, scatter_slot, gives.first * width, gives.n * width);
    if (takes.n > 0) {
      in->waitRecv(context_->getTimeout());
      auto* at = work.data() + takes.first * width;
      reduce(at, at, heard.data(), takes.n);
    }
    if (gives.n > 0)
      out->waitSend(context_->getTimeout());
  }
  if (auto own = part_of(rank_); own.n > 0)
    std::memcpy(part, work.data() + own.first * width, own.n * width);
}

// -- point to point --

void RingLink::send(const void* values, std::size_t n, RingType type, std::size_t to) {
  check_other("send to", to);
  if (checks_) {
    const RingStep step{.n = n, .call = RingStep::Call::send, .type = type};
    give(&step, sizeof step, to);
  }
  if (n > 0)
    give(values, n * size_of(type), to);
}

/// Sends a copy, which it keeps until it is sent.
void RingLink::give(const void* values, std::size_t bytes, std::size_t to) {
  const auto most = checks_ ? 2 * max_messages : max_messages; // Each has its step.
  run("send", [&] {
    for (; sent_.size() >= most || sent_bytes_ > max_bytes; sent_.pop_front()) {
      sent_.front().buffer->waitSend(context_->getTimeout());
      sent_bytes_ -= sent_.front().bytes.size();
    }
    auto* first = static_cast<const std::byte*>(values);
    auto& message = sent_.emplace_back(Message{Bytes(first, first + bytes), nullptr});
    sent_bytes_ += bytes;
    message.buffer = buffer(message.bytes.data(), bytes);
    message.buffer->send(static_cast<int>(to), message_slot);
  });
}

void RingLink::recv(void* values, std::size_t n, RingType type, std::size_t from) {
  check_other("recv from", from);
  if (checks_) {
    const RingStep own{.n = n, .call = RingStep::Call::send, .type = type};
    RingStep sent;
    take(&sent, sizeof sent, from);
    if (sent != own)
      throw Error("rank " + std::to_string(rank_) + " of a ring receives " +
                  values_text(own) + " from rank " + std::to_string(from) +
                  ", which has sent " + values_text(sent));
  }
  if (n > 0)
    take(values, n * size_of(type), from);
}

void RingLink::take(void* values, std::size_t bytes, std::size_t from) {
  run("recv", [&] {
    auto in = buffer(values, bytes);
    in->recv(static_cast<int>(from), message_slot);
    in->waitRecv(context_->getTimeout());
  });
}

} // namespace fiber::detail
