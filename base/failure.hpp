// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fiber/error.hpp"

namespace fiber {

/// Describes the exception that is being handled, so that it can be told, and where its
/// type allows thrown, in another process.
Failure capture_failure();

/// Throws the original if the failure says how; returns if it does not.
void rethrow(const Failure& failure);

} // namespace fiber
