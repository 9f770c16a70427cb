// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <caf/fwd.hpp>

#include "actors/objects/object_space.hpp"
#include "actors/queue/channel.hpp"

namespace fiber::actors {

/// Which ends a channel has, each an object of its own.
enum class ChannelEnds : std::uint8_t {
  one,       ///< A queue: whoever holds it puts and gets.
  one_way,   ///< A pipe: the first end gets what the second one puts.
  both_ways, ///< A pipe: each end gets what the other one puts.
};

/// Opens a queue or a pipe whose home is this process. Returns its ends. It ends with the
/// last of them; a pipe's end that nobody holds is closed.
std::vector<std::shared_ptr<ObjectHandle>>
open_channel(caf::actor_system& system, const std::shared_ptr<ObjectSpace>& space,
             Channel::Limits limits, ChannelEnds ends);

} // namespace fiber::actors
