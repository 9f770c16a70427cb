// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "fiber/detail/packed_item.hpp"
#include "libfiber/objects/object_core.hpp"

namespace fiber::detail {

/// Creates objects in a job through its control object, which actors::ManagedObjects
/// serves.
class ControlCore : public ObjectCore {
public:
  /// Creates an object from `recipe`, a packed constructor call, and returns its handle.
  /// Throws the exception if that failed.
  std::shared_ptr<actors::ObjectHandle> create(PackedItem recipe);

protected:
  ControlCore(ObjectPlace place, std::shared_ptr<actors::ObjectHandle> control)
    : ObjectCore(std::move(place), std::move(control)) {}
};

} // namespace fiber::detail
