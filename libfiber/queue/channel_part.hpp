// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "actors/objects/object_space.hpp"
#include "libfiber/observer/part.hpp"

namespace fiber::detail {

/// A queue, or the receiving end of a pipe, that lives in this process, as the observers
/// of its session see it.
class ChannelPart final : public observer::Part {
public:
  /// `serial` counts the channels of the session. `capacity` in items; SIZE_MAX: no
  /// limit.
  ChannelPart(std::weak_ptr<actors::ObjectSpace> objects, HeldId id, const char* kind,
              std::uint64_t serial, std::size_t capacity)
    : objects_(std::move(objects)), id_(id), kind_(kind), serial_(serial),
      capacity_(capacity) {}

  const char* list() const override { return "queues"; }
  bool gone() const override;
  Answer look() override;

private:
  const std::weak_ptr<actors::ObjectSpace> objects_;
  const HeldId id_;
  const char* const kind_;
  const std::uint64_t serial_;
  const std::size_t capacity_;
};

} // namespace fiber::detail
