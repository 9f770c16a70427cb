// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "libfiber/observer/part.hpp"
#include "libfiber/supervision/supervisor_core.hpp"

namespace fiber::detail {

/// A supervisor and what is below it, as the observers of its session see them.
class SupervisorPart final : public observer::Part {
public:
  explicit SupervisorPart(std::weak_ptr<SupervisorCore> core) : core_(std::move(core)) {}

  const char* list() const override { return "supervisors"; }
  bool gone() const override {
    auto core = core_.lock();
    return !core || core->has_ended();
  }
  Answer look() override;

private:
  const std::weak_ptr<SupervisorCore> core_;
};

} // namespace fiber::detail
