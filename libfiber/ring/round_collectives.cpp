// SPDX-License-Identifier: Apache-2.0
#include "libfiber/ring/round_collectives.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "libfiber/ring/ring_math.hpp"

namespace fiber::detail {
namespace {

/// Up to so many bytes in all boxes each member adds up all values itself, which takes
/// one round. Beyond that each adds up a part, which takes two rounds and less work.
constexpr std::size_t max_whole_bytes = 256 * 1024;

/// Combines n values at each of the places, one place after the other, into `out`, which
/// must not be among them. Works in pieces that stay in the first cache.
void combine(std::byte* out, const std::vector<const std::byte*>& places, std::size_t n,
             std::size_t width, RingReduce reduce) {
  constexpr std::size_t piece_bytes = 8 * 1024;
  const auto most = piece_bytes / width;
  for (std::size_t done = 0; done < n; done += most) {
    const auto some = std::min(most, n - done);
    auto* to = out + done * width;
    reduce(to, places[0] + done * width, places[1] + done * width, some);
    for (std::size_t i = 2; i < places.size(); ++i)
      reduce(to, to, places[i] + done * width, some);
  }
}

/// The place that is `offset` bytes into the box of each member.
void find_in_boxes(RingRounds& rounds, std::size_t offset,
                   std::vector<const std::byte*>& places) {
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    places[rank] = rounds.box(rank) + offset;
}

} // namespace

void broadcast(RingRounds& rounds, std::byte* values, std::size_t bytes,
               std::size_t root) {
  const auto gives = rounds.rank() == root;
  for (std::size_t done = 0; done < bytes; done += rounds.box_bytes()) {
    const auto some = std::min(rounds.box_bytes(), bytes - done);
    if (gives)
      std::memcpy(rounds.own_box(), values + done, some);
    rounds.exchange();
    if (!gives)
      std::memcpy(values + done, rounds.box(root), some);
  }
}

void allgather(RingRounds& rounds, const std::byte* values, std::size_t bytes,
               std::byte* all) {
  if (bytes == 0)
    return;
  std::memcpy(all + rounds.rank() * bytes, values, bytes);
  for (std::size_t done = 0; done < bytes; done += rounds.box_bytes()) {
    const auto some = std::min(rounds.box_bytes(), bytes - done);
    std::memcpy(rounds.own_box(), values + done, some);
    rounds.exchange();
    for (std::size_t rank = 0; rank < rounds.members(); ++rank)
      if (rank != rounds.rank())
        std::memcpy(all + rank * bytes + done, rounds.box(rank), some);
  }
}

void allreduce(RingRounds& rounds, std::byte* values, std::size_t n, RingType type,
               RingOp op) {
  if (n == 0)
    return;
  const auto width = size_of(type), members = rounds.members();
  const auto reduce = ring_reduce(type, op);
  std::vector<const std::byte*> places(members);
  if (n * width * members <= max_whole_bytes) {
    std::memcpy(rounds.own_box(), values, n * width);
    rounds.exchange();
    find_in_boxes(rounds, 0, places);
    combine(values, places, n, width, reduce);
    return;
  }
  // A chunk at a time. A box has this member's values of a chunk, and behind them its
  // part of the results of the chunk before.
  const auto chunk = (rounds.box_bytes() / width - 1) * members / (members + 1);
  for (std::size_t done = 0, before = 0;;) {
    const auto some = std::min(chunk, n - done);
    auto* box = rounds.own_box();
    std::memcpy(box, values + done * width, some * width);
    if (const auto own = ring_part(before, members, rounds.rank()); own.n > 0) {
      find_in_boxes(rounds, own.first * width, places);
      combine(box + chunk * width, places, own.n, width, reduce);
    }
    rounds.exchange();
    for (std::size_t rank = 0; rank < members; ++rank) {
      const auto part = ring_part(before, members, rank);
      std::memcpy(values + (done - before + part.first) * width,
                  rounds.box(rank) + chunk * width, part.n * width);
    }
    if (some == 0)
      return;
    done += some;
    before = some;
  }
}

void reduce_scatter(RingRounds& rounds, const std::byte* values, std::size_t n,
                    RingType type, RingOp op, std::byte* part) {
  const auto width = size_of(type), members = rounds.members();
  const auto reduce = ring_reduce(type, op);
  std::vector<const std::byte*> places(members);
  // A slice of every part at a time: a box has this member's values of each.
  const auto slice = rounds.box_bytes() / width / members;
  const auto longest = ring_part(n, members, 0).n;
  auto slice_of = [&](std::size_t rank, std::size_t done) {
    auto whole = ring_part(n, members, rank);
    auto skipped = std::min(done, whole.n);
    return RingSlice{whole.first + skipped, std::min(slice, whole.n - skipped)};
  };
  for (std::size_t done = 0; done < longest; done += slice) {
    for (std::size_t rank = 0; rank < members; ++rank) {
      const auto gives = slice_of(rank, done);
      std::memcpy(rounds.own_box() + rank * slice * width, values + gives.first * width,
                  gives.n * width);
    }
    rounds.exchange();
    find_in_boxes(rounds, rounds.rank() * slice * width, places);
    combine(part + done * width, places, slice_of(rounds.rank(), done).n, width, reduce);
  }
}

} // namespace fiber::detail
