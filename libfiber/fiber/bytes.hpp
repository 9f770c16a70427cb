// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace fiber {

/// Owned bytes: what is being written, and what has just arrived.
using Bytes = std::vector<std::byte>;

namespace detail {

/// Large blocks are used again rather than given back: pages fresh from the kernel cost
/// more than what is then written to them. Any thread may call both.
///
/// With a capacity of at least `least` if such a block is kept, else empty. What was
/// written to it last is still there, so that it need not be cleared first.
Bytes reuse(std::size_t least);
void recycle(Bytes bytes) noexcept;

struct Recycled {
  explicit Recycled(Bytes of) : bytes(std::move(of)) {}
  Recycled(const Recycled&) = delete;
  Recycled& operator=(const Recycled&) = delete;
  ~Recycled() { recycle(std::move(bytes)); }
  Bytes bytes;
};

} // namespace detail

/// Immutable bytes shared by reference. A copy costs a reference count, so one large
/// value can be sent on many links without being copied.
class Payload {
public:
  Payload() = default;
  explicit Payload(Bytes bytes) {
    auto owner = std::make_shared<const detail::Recycled>(std::move(bytes));
    bytes_ = owner->bytes;
    owner_ = std::move(owner);
  }
  /// Views `bytes`, which live as long as `owner` does.
  Payload(std::shared_ptr<const void> owner, std::span<const std::byte> bytes)
    : owner_(std::move(owner)), bytes_(bytes) {}

  std::span<const std::byte> bytes() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  /// A part of these bytes that keeps the whole alive.
  Payload slice(std::size_t from, std::size_t count) const {
    return {owner_, bytes_.subspan(from, count)};
  }

private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
};

} // namespace fiber
