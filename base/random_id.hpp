// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fiber {

/// Returns 12 random hexadecimal digits, which name a session on its engine.
std::string random_id();

} // namespace fiber
