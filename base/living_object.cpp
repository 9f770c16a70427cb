// SPDX-License-Identifier: Apache-2.0
#include "fiber/detail/living_object.hpp"

#include "base/demangle.hpp"
#include "fiber/error.hpp"

namespace fiber {

void detail::throw_other_object(const LivingObject& object,
                                const std::type_info& called) {
  throw Error("an object of type " + demangle(typeid(object).name()) +
              " is called as if it were of type " + demangle(called.name()) +
              ": right is a call of its own type");
}

} // namespace fiber
