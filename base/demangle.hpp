// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fiber {

/// Returns the name of a function or type as in the source, or `name` itself if it is not
/// mangled.
std::string demangle(const char* name);

} // namespace fiber
