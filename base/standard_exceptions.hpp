// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "fiber/remote_error.hpp"

namespace fiber {

/// Returns how exceptions of a type of the standard library travel, or null if the
/// identity is that of no such type. Any thread may call it.
const detail::Throwable* standard_throwable(const std::string& identity);

} // namespace fiber
