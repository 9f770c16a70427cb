// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "actors/manager/managed_objects.hpp"
#include "libfiber/observer/part.hpp"

namespace fiber::detail {

/// A manager and its objects as the observers of its session see them.
class ManagerPart final : public observer::Part {
public:
  ManagerPart(std::string name, std::weak_ptr<actors::ManagedObjects> objects)
    : name_(std::move(name)), objects_(std::move(objects)) {}

  const char* list() const override { return "managers"; }
  bool gone() const override;
  Answer look() override;

private:
  const std::string name_;
  const std::weak_ptr<actors::ManagedObjects> objects_;
};

} // namespace fiber::detail
