// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "actors/ring/ring_actor.hpp"
#include "libfiber/observer/part.hpp"

namespace fiber::detail {

/// One run of a ring as the observers of its session see it.
class RingPart final : public observer::Part {
public:
  explicit RingPart(const actors::RingSettings& ring)
    : name_(ring.name), size_(ring.size), max_restarts_(ring.max_restarts),
      progress_(ring.progress), end_(ring.end) {}

  const char* list() const override { return "rings"; }
  bool gone() const override;
  Answer look() override;

private:
  const std::string name_;
  const std::size_t size_;
  const int max_restarts_;
  const std::weak_ptr<actors::RingProgress> progress_;
  const std::weak_ptr<actors::Reply<std::shared_ptr<actors::RingEnd>>> end_;
};

} // namespace fiber::detail
