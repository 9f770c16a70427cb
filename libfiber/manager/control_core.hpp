// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "fiber/detail/packed_item.hpp"
#include "libfiber/objects/object_core.hpp"

namespace fiber::detail {

/// The way to have objects made in a job: of actors::ManagedObjects.
class ControlCore : public ObjectCore {
public:
  /// A handle to a new object, made as `recipe` says. Throws what came instead.
  std::shared_ptr<actors::ObjectHandle> create(PackedItem recipe);

protected:
  ControlCore(ObjectPlace place, std::shared_ptr<actors::ObjectHandle> control)
    : ObjectCore(std::move(place), std::move(control)) {}
};

} // namespace fiber::detail
