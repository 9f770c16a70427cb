// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fiber::actors {

/// The GNU build id of this program's executable, in hex. Throws Error if it was linked
/// without one (-Wl,--build-id).
std::string build_id();

} // namespace fiber::actors
