// SPDX-License-Identifier: Apache-2.0
#include "fiber/bytes.hpp"

#include <algorithm>
#include <mutex>

namespace fiber::detail {
namespace {

/// The allocator itself caches smaller blocks.
constexpr std::size_t least_block = 64 * 1024;
constexpr std::size_t most_kept = 32 * 1024 * 1024; ///< Total bytes in the cache.
/// A block is reused only if it is at most this many times too large.
constexpr std::size_t most_waste = 4;

class Blocks {
public:
  Blocks() { blocks_.reserve(most_kept / least_block); } // So that put() cannot throw.
  Bytes take(std::size_t least) {
    const std::lock_guard lock(mutex_);
    const auto found =
      std::find_if(blocks_.rbegin(), blocks_.rend(), [&](const Bytes& block) {
        return block.capacity() >= least && block.capacity() / most_waste <= least;
      });
    if (found == blocks_.rend())
      return {};
    std::swap(*found, blocks_.back());
    auto block = std::move(blocks_.back());
    blocks_.pop_back();
    kept_ -= block.capacity();
    return block;
  }
  void put(Bytes&& block) {
    const std::lock_guard lock(mutex_);
    if (kept_ + block.capacity() > most_kept)
      return;
    kept_ += block.capacity();
    blocks_.push_back(std::move(block));
  }

private:
  std::mutex mutex_;
  std::vector<Bytes> blocks_;
  std::size_t kept_ = 0;
};

Blocks& blocks() {
  static auto* all = new Blocks; // Never destroyed: payloads may be in static objects.
  return *all;
}

} // namespace

Bytes reuse(std::size_t least) {
  return least < least_block ? Bytes() : blocks().take(least);
}

void recycle(Bytes bytes) noexcept {
  if (bytes.capacity() >= least_block)
    blocks().put(std::move(bytes));
}

} // namespace fiber::detail
