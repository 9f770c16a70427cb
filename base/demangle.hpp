// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fiber {

/// The name of a function or type as it stands in the source; `name` itself if it is not
/// mangled.
std::string demangle(const char* name);

} // namespace fiber
