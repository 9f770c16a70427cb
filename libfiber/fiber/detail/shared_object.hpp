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

/// What this process knows of one shared value.
class SharedObject : public Held {
public:
  virtual std::uint64_t id() const = 0;
  HeldId held_id() const final { return {HeldId::shared_values, id()}; }
  /// The packed value or the array. In a job the first call fetches it and blocks; throws
  /// Error if the driver has it no more.
  virtual std::span<const std::byte> bytes() = 0;
  /// Where this process may find the same bytes without a link; written into handles.
  virtual void pack_place(Writer& writer) const = 0;

  /// Sets the value where it is known without unpacking. Before anybody else has the
  /// object.
  void preset(std::shared_ptr<const void> value) {
    std::call_once(once_, [&] { value_ = std::move(value); });
  }
  /// The unpacked value, made by `make` on first use and kept.
  template <class Make>
  const void* value(Make make) {
    std::call_once(once_, [&] { value_ = make(bytes()); });
    return value_.get();
  }
  /// What tells the bytes from others in another session, made by `make` on first use.
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
