// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "fiber/error.hpp"

namespace fiber::cli {

/// Throws Error unless `name` is the whole name of the session that was found for it, or
/// that and its pid. A verb that ends a session asks for this: the session that was meant
/// may have ended, and another one may begin like it.
template <class Named>
void require_whole_name(const std::string& name, const Named& found) {
  if (name.substr(0, name.find(':')) != found.name)
    throw Error("there is no session \"" + name + "\"; to end " + found.name +
                " give its whole name");
}

} // namespace fiber::cli
