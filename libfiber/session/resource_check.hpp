// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fiber/callable.hpp"

namespace fiber::detail {

/// Throws ConfigError that names `place` on resources that no job can have.
void check_resources(const Resources& resources, const char* place);
/// Throws ConfigError if a function asks, by meta(), for more than `whose` jobs have.
void check_grant(const Resources& has, const Resources& asked, const char* whose);

} // namespace fiber::detail
