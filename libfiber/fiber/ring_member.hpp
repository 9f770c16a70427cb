// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <type_traits>
#include <vector>

#include "fiber/callable.hpp"
#include "fiber/checkpoint.hpp"

namespace gloo {
class Context;
}

namespace fiber {

/// How a collective combines the values of the members, element by element: by the sum.
struct Sum {};
/// By the least value.
struct Min {};
/// By the greatest value.
struct Max {};
/// By the mean: the sum divided by the number of members. The sum must not overflow the
/// type. For integers the mean is rounded towards zero.
struct Mean {};

namespace detail {

class RingLink;

enum class RingType : std::uint8_t { f32, f64, i32, i64 };
enum class RingOp : std::uint8_t { sum, min, max, mean };

template <class T>
inline constexpr bool is_ring_type =
  std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int> ||
  std::is_same_v<T, long> || std::is_same_v<T, long long>;

template <class T>
constexpr RingType ring_type() {
  static_assert(is_ring_type<T>,
                "fiber: the members of a ring exchange float, double, std::int32_t and "
                "std::int64_t; send values of other types through a queue or a pipe");
  if constexpr (std::is_floating_point_v<T>)
    return sizeof(T) == sizeof(float) ? RingType::f32 : RingType::f64;
  else
    return sizeof(T) == sizeof(std::int32_t) ? RingType::i32 : RingType::i64;
}

template <class Op>
constexpr RingOp ring_op() {
  static_assert(std::is_same_v<Op, Sum> || std::is_same_v<Op, Min> ||
                  std::is_same_v<Op, Max> || std::is_same_v<Op, Mean>,
                "fiber: a ring can do fiber::Sum{}, Min{}, Max{} and Mean{}");
  return std::is_same_v<Op, Sum>   ? RingOp::sum
         : std::is_same_v<Op, Min> ? RingOp::min
         : std::is_same_v<Op, Max> ? RingOp::max
                                   : RingOp::mean;
}

/// A vector, span, array, ...
template <class Range>
concept RingRange =
  std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range>;
template <class Range>
using ring_value_t = std::remove_cv_t<std::ranges::range_value_t<Range>>;

template <class Range>
constexpr void check_writable() {
  static_assert(
    !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Range>>>,
    "fiber: the result is written to these values, which are const");
}

/// A member's place, as its job is told.
struct RingSeat {
  std::uint64_t rank = 0, size = 1;
  std::int64_t attempt = 1;
  std::uint64_t session = 0;   ///< The session's number in handles.
  HeldId board;                ///< Where members find each other.
  std::uint64_t plaintext = 0; ///< Whether Gloo may leave the machine.
  std::uint64_t check = 0;     ///< RingOptions::check.
};

template <class R, class F>
class RingCall;

} // namespace detail

/// A member of a Ring, as its function sees it: its place, and the way to the other
/// members.
///
/// A collective (barrier, broadcast, allreduce, allgather, reduce_scatter) must be called
/// by all members, in the same order, with as many values of the same type, and with the
/// same operation or root. Anything else is undefined: a deadlock, wrong numbers, or a
/// crash of the members. With RingOptions::check it is an Error, thrown at all members,
/// that says which ranks call what. Values are vectors, spans and arrays of float,
/// double, std::int32_t and std::int64_t, which may be empty.
///
/// Collectives and recv() wait for the other members. All that talk to other members
/// throw WorkerLost if the connection to one breaks, usually because it was lost or has
/// failed. Let the exception out of the function: if a member was lost, all members begin
/// again.
///
/// Thread safety: one thread at a time.
class RingMember {
public:
  RingMember(const RingMember&) = delete;
  RingMember& operator=(const RingMember&) = delete;
  ~RingMember();

  /// This member's number, 0 to size() - 1.
  std::size_t rank() const { return rank_; }
  /// The number of members.
  std::size_t size() const { return size_; }
  /// How often the ring has been formed, from 1.
  int attempt() const { return attempt_; }

  /// Waits for all members.
  void barrier();

  /// Replaces the values of all members by those of the member `root`.
  template <detail::RingRange Range>
  void broadcast(Range&& values, std::size_t root) {
    detail::check_writable<Range>();
    broadcast(std::ranges::data(values), std::ranges::size(values),
              detail::ring_type<detail::ring_value_t<Range>>(), root);
  }

  /// Combines the values of all members, element by element, and replaces the values of
  /// each by the result. All members get the same bits.
  template <detail::RingRange Range, class Op = Sum>
  void allreduce(Range&& values, Op = {}) {
    detail::check_writable<Range>();
    allreduce(std::ranges::data(values), std::ranges::size(values),
              detail::ring_type<detail::ring_value_t<Range>>(), detail::ring_op<Op>());
  }

  /// Returns the values of all members, one after the other by rank.
  template <detail::RingRange Range>
  std::vector<detail::ring_value_t<Range>> allgather(Range&& values) {
    using T = detail::ring_value_t<Range>;
    constexpr auto type = detail::ring_type<T>();
    std::vector<T> all(size_ * std::ranges::size(values));
    allgather(std::ranges::data(values), std::ranges::size(values), type, all.data());
    return all;
  }

  /// Combines the values of all members, element by element, and returns this member's
  /// part of the result: of n values n / size each, and one more for the first n % size
  /// members, as numpy.array_split does.
  template <detail::RingRange Range, class Op = Sum>
  std::vector<detail::ring_value_t<Range>> reduce_scatter(Range&& values, Op = {}) {
    using T = detail::ring_value_t<Range>;
    constexpr auto type = detail::ring_type<T>();
    std::vector<T> part(part_size(std::ranges::size(values)));
    reduce_scatter(std::ranges::data(values), std::ranges::size(values), type,
                   detail::ring_op<Op>(), part.data());
    return part;
  }

  /// Sends a copy of the values to another member, which must recv() as many values of
  /// this type. Returns before they are received, as long as not more than 64 such
  /// messages or 64 MiB are in flight. Messages to one member arrive in order.
  template <detail::RingRange Range>
  void send(Range&& values, std::size_t to) {
    send(std::ranges::data(values), std::ranges::size(values),
         detail::ring_type<detail::ring_value_t<Range>>(), to);
  }
  /// Waits for what the member `from` sends, and replaces the values by it.
  template <detail::RingRange Range>
  void recv(Range&& values, std::size_t from) {
    detail::check_writable<Range>();
    recv(std::ranges::data(values), std::ranges::size(values),
         detail::ring_type<detail::ring_value_t<Range>>(), from);
  }

  /// One value that outlives the members' jobs: what the function saves there it finds
  /// again in the next attempt and, with RingOptions::checkpoint, in another run of the
  /// program. There is one for the whole ring, so usually one member saves and all
  /// members load.
  const Checkpoint& checkpoint() const { return checkpoint_; }

  /// Gloo's context, connected to all members, for what else Gloo can do: #include
  /// <gloo/...>, and link with it. Its slots from 0xf0 << 56 on are Fiber's.
  std::shared_ptr<gloo::Context> gloo();

private:
  template <class R, class F>
  friend class detail::RingCall;

  RingMember(const detail::RingSeat& seat, Checkpoint checkpoint);
  /// Waits until all members are at the end of the function: no member may go while
  /// another one may still hear from it.
  void leave();
  /// Called by a handler of what the function threw: throws that, or an error that says
  /// that it follows from the loss of another member.
  [[noreturn]] void rethrow();

  void broadcast(void* values, std::size_t n, detail::RingType type, std::size_t root);
  void allreduce(void* values, std::size_t n, detail::RingType type, detail::RingOp op);
  void allgather(const void* values, std::size_t n, detail::RingType type, void* all);
  void reduce_scatter(const void* values, std::size_t n, detail::RingType type,
                      detail::RingOp op, void* part);
  void send(const void* values, std::size_t n, detail::RingType type, std::size_t to);
  void recv(void* values, std::size_t n, detail::RingType type, std::size_t from);
  std::size_t part_size(std::size_t n) const { return n / size_ + (rank_ < n % size_); }

  const std::size_t rank_, size_;
  const int attempt_;
  const Checkpoint checkpoint_;
  std::unique_ptr<detail::RingLink> link_;
};

} // namespace fiber
