// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace fiber::wire {

/// Feeds `input` to a Receiver in chunks whose size its first byte gives, and to the
/// decoder of hellos. Aborts if a message has more bytes than came, or memory was
/// allocated on the peer's word. Returns whether one of them took all of it.
bool fuzz_receiver(std::span<const std::uint8_t> input);

} // namespace fiber::wire
