// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "fiber/callable.hpp"
#include "fiber/value.hpp"

namespace fiber::detail {

/// A shared value in this process.
class SharedObject : public Held {
public:
  virtual std::uint64_t id() const = 0;
  HeldId held_id() const final { return {HeldId::shared_values, id()}; }
  /// Returns the packed value or the array. In a job the first call fetches it and
  /// blocks. Throws Error if the driver has dropped the value.
  virtual std::span<const std::byte> bytes() = 0;
  /// Writes into a handle where this machine has the bytes in shared memory, if it has.
  virtual void pack_place(Writer& writer) const = 0;

  /// Sets the value where it is known without unpacking. Must be called before the object
  /// is shared.
  void preset(std::shared_ptr<const void> value) {
    std::call_once(once_, [&] { value_ = std::move(value); });
  }
  /// Returns the unpacked value, which `make` creates on first use.
  template <class Make>
  const void* value(Make make) {
    std::call_once(once_, [&] { value_ = make(bytes()); });
    return value_.get();
  }
  /// Returns the digest of the bytes, which `make` computes on first use. It identifies
  /// the value across sessions.
  template <class Make>
  const Digest& digest(Make make) {
    std::call_once(digest_once_, [&] { digest_ = make(bytes()); });
    return digest_;
  }

private:
  std::once_flag once_, digest_once_;
  Digest digest_{};
  std::shared_ptr<const void> value_;
};

} // namespace fiber::detail
