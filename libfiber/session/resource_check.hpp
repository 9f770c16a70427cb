// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fiber/callable.hpp"

namespace fiber::detail {

/// Throws ConfigError, naming `place`, if no job could have these resources.
void check_resources(const Resources& resources, const char* place);
/// Throws ConfigError if a function's meta() asks for more than `has`, the resources of
/// `whose` jobs ("the pool", "the process").
void check_grant(const Resources& has, const Resources& asked, const char* whose);

} // namespace fiber::detail
