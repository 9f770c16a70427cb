// SPDX-License-Identifier: Apache-2.0
#include "fiber/actor.hpp"

#include <utility>

#include "actors/caf/actor_message.hpp"
#include "actors/objects/this_job.hpp"
#include "libfiber/caf/spawned_actor.hpp"
#include "libfiber/session/resource_check.hpp"
#include "libfiber/session/runtime.hpp"

namespace fiber {

caf::actor_system& actor_system() {
  if (auto* job = actors::ThisJob::get())
    return job->actors->system();
  return detail::Runtime::require()->actor_port()->system();
}

namespace detail {

bool announce_message(TypeKey key, const std::type_info& type,
                      void (*pack)(Writer& writer, const void* value),
                      void (*append)(Reader& reader, caf::message_builder& message)) {
  actors::declare_message({key, &type, pack, append});
  return true;
}

void pack_actor(Writer& writer, const caf::strong_actor_ptr& actor) {
  actors::ActorPort::pack_here(writer, actor);
}

caf::strong_actor_ptr unpack_actor(Reader& reader) {
  return actors::ActorPort::unpack(reader);
}

ActorPlace ActorPlace::fiber_unpack(Reader& reader) {
  return {nullptr, actors::ActorPort::unpack_place(reader)};
}

void check_spawn(const SpawnOptions& options) {
  check_resources(options.resources, "SpawnOptions");
}

ManagerOptions manager_of(const SpawnOptions& options) {
  return {.resources = options.resources,
          .restart = options.restart == Restart::temporary ? Restart::temporary
                                                           : Restart::permanent,
          .name = options.name};
}

caf::strong_actor_ptr supervise(const SpawnOptions& options, Manager manager,
                                CellCalls cell) {
  return SpawnedActor::start(Runtime::require(), options, std::move(manager),
                             std::move(cell));
}

} // namespace detail
} // namespace fiber
