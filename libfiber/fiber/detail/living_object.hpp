// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "fiber/value.hpp"

namespace fiber::detail {

class LivingObject;
using CallObject = void (*)(LivingObject& object, Reader& arguments, Writer& result);

/// An object within its job, whatever it is.
class LivingObject {
public:
  LivingObject() = default;
  LivingObject(const LivingObject&) = delete;
  LivingObject& operator=(const LivingObject&) = delete;
  virtual ~LivingObject() = default;

  virtual void run(CallObject call, Reader& arguments, Writer& result) {
    call(*this, arguments, result);
  }
  /// It was made in the place of one that was lost.
  virtual void restarted() {}
  /// It is about to be destroyed, as planned.
  virtual void stopping() {}
  /// Whether its calls have a thread of their own.
  virtual bool detached() const { return false; }
};
using MakeObject = std::unique_ptr<LivingObject> (*)(Reader& arguments);

/// What a manager and its job say of an object, after its number.
enum class ObjectOp : std::uint8_t {
  create,  ///< the place of a MakeObject, arguments
  remake,  ///< the same, in the place of one that was lost
  call,    ///< the place of a CallObject, a callable, arguments
  repeat,  ///< the same of one that may run again
  destroy, ///< nobody holds it any more
  // Of all objects; their number is 0.
  ready,   ///< from the job: it can have objects
  restore, ///< the place of an Open, its state
  stop     ///< a bool: at once or in turn; say so to all, destroy them and end
};

/// A function's address, as pack_code() takes it.
template <class F>
const void* code_of(F* function) {
  return reinterpret_cast<const void*>(function);
}

} // namespace fiber::detail
