// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <caf/fwd.hpp>

#include "actors/objects/object_space.hpp"
#include "actors/sync/sync_object.hpp"

namespace fiber::actors {

/// Opens a lock, semaphore, event, condition or barrier whose home is this process. It
/// ends with its last handle or with the process; waiting requests are answered `closed`.
std::shared_ptr<ObjectHandle> open_sync(caf::actor_system& system,
                                        const std::shared_ptr<ObjectSpace>& space,
                                        SyncKind kind, std::uint64_t n);

} // namespace fiber::actors
