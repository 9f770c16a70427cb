// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace fiber {

/// Owned bytes: those being written, or those that have just arrived.
using Bytes = std::vector<std::byte>;

/// Immutable bytes, shared by reference. A copy costs a reference count, so one large
/// value can be sent on many links without being copied.
///
/// Thread safety: as std::shared_ptr<const T>.
class Payload {
public:
  /// No bytes.
  Payload() = default;
  /// Takes `bytes` over without copying them.
  explicit Payload(Bytes bytes) {
    auto owner = std::make_shared<const Bytes>(std::move(bytes));
    bytes_ = *owner;
    owner_ = std::move(owner);
  }
  /// Views `bytes`, which live as long as `owner` does.
  Payload(std::shared_ptr<const void> owner, std::span<const std::byte> bytes)
    : owner_(std::move(owner)), bytes_(bytes) {}

  /// Valid as long as this Payload or a copy of it lives.
  std::span<const std::byte> bytes() const { return bytes_; }
  /// The number of bytes.
  std::size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  /// A part of these bytes, which keeps all of them alive.
  Payload slice(std::size_t from, std::size_t count) const {
    return {owner_, bytes_.subspan(from, count)};
  }

private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
};

} // namespace fiber
