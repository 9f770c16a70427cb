// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <typeinfo>

#include "fiber/value.hpp"

namespace fiber::detail {

class LivingObject;
using CallObject = void (*)(LivingObject& object, Reader& arguments, Writer& result);

/// A managed object of any type, in its job.
class LivingObject {
public:
  LivingObject() = default;
  LivingObject(const LivingObject&) = delete;
  LivingObject& operator=(const LivingObject&) = delete;
  virtual ~LivingObject() = default;

  virtual void run(CallObject call, Reader& arguments, Writer& result) {
    call(*this, arguments, result);
  }
  /// Called after the object was made in place of a lost one.
  virtual void restarted() {}
  /// Called before a planned destruction.
  virtual void stopping() {}
  /// Returns whether the object's calls run on a separate thread.
  virtual bool detached() const { return false; }
};
/// Throws Error: a request calls `object` as if it were of the type `called`.
[[noreturn]] void throw_other_object(const LivingObject& object,
                                     const std::type_info& called);
using MakeObject = std::unique_ptr<LivingObject> (*)(Reader& arguments);

/// Messages between a manager and its job: an object's number, one of these, and the body
/// that the comment gives. A place identifies a function in the build.
enum class ObjectOp : std::uint8_t {
  create,  ///< The place of a MakeObject, arguments.
  remake,  ///< Like create, for an object that was lost.
  call,    ///< The place of a CallObject, a callable, arguments.
  repeat,  ///< Like call, for an idempotent callable.
  destroy, ///< The last handle is gone.
  // About all objects, with number 0.
  ready,   ///< From the job: it accepts objects.
  restore, ///< The place of an Open, its state.
  stop     ///< A bool (at once, or in turn): call stopping(), destroy all objects, end.
};

} // namespace fiber::detail
