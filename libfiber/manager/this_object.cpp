// SPDX-License-Identifier: Apache-2.0
#include "fiber/this_object.hpp"

#include <utility>

#include "fiber/error.hpp"

namespace fiber {
namespace {

thread_local const Checkpoint* current = nullptr;

} // namespace

Checkpoint this_object::checkpoint() {
  if (current == nullptr)
    throw Error("fiber::this_object was asked outside the calls of a supervised object");
  return *current;
}

detail::ObjectScope::ObjectScope(const Checkpoint& checkpoint)
  : outer_(std::exchange(current, &checkpoint)) {}

detail::ObjectScope::~ObjectScope() {
  current = outer_;
}

} // namespace fiber
