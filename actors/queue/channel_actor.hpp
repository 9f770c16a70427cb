// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <caf/fwd.hpp>

#include "actors/objects/object_space.hpp"
#include "actors/queue/channel.hpp"

namespace fiber::actors {

/// The ends of a channel. Each is an object of its own.
enum class ChannelEnds : std::uint8_t {
  one,       ///< A queue: every holder may put and get.
  one_way,   ///< A pipe: the first end gets what the second end puts.
  both_ways, ///< A pipe: each end gets what the other end puts.
};

/// Opens a queue or a pipe whose home is this process, and returns its ends. It ends when
/// nobody holds any of them; the end of a pipe that nobody holds is closed.
std::vector<std::shared_ptr<ObjectHandle>>
open_channel(caf::actor_system& system, const std::shared_ptr<ObjectSpace>& space,
             Channel::Limits limits, ChannelEnds ends);

} // namespace fiber::actors
