// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fiber/byte_stream.hpp"
#include "fiber/error.hpp"

namespace fiber {

/// Describes the exception that is being handled, so that another process can report it
/// and, if its type permits, rethrow it.
Failure capture_failure();

/// How a failure travels.
void pack_failure(Writer& writer, const Failure& failure);
Failure unpack_failure(Reader& reader);

/// Throws the original exception, or returns if the failure does not say how.
void rethrow(const Failure& failure);

} // namespace fiber
