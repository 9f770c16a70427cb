// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "fiber/byte_stream.hpp"

namespace fiber::wire {

/// Returns the first half of the bytes' SHA-256.
fiber::detail::Digest digest_of(std::span<const std::byte> bytes);

} // namespace fiber::wire
