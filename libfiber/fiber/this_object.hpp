// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fiber/checkpoint.hpp"

namespace fiber {
namespace this_object {

/// The checkpoint of the supervised object whose constructor, on_restart(), on_stop() or
/// call runs on this thread. Each child of a Supervisor has one: it lives in the
/// supervisor's process and outlives all restarts. Throws Error elsewhere.
Checkpoint checkpoint();

} // namespace this_object

namespace detail {

/// Makes `checkpoint` the this_object::checkpoint() of its thread while it lives.
class ObjectScope {
public:
  explicit ObjectScope(const Checkpoint& checkpoint);
  ~ObjectScope();
  ObjectScope(const ObjectScope&) = delete;
  ObjectScope& operator=(const ObjectScope&) = delete;

private:
  const Checkpoint* outer_;
};

} // namespace detail
} // namespace fiber
