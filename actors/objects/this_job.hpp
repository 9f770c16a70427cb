// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <caf/fwd.hpp>

#include "actors/objects/object_space.hpp"
#include "wire/leadership.hpp"

namespace fiber::actors {

class ActorPort;

/// The parts of its node that the tasks of a job use. Set once, before the first task
/// runs; they live as long as the process.
struct ThisJob {
  /// Returns the system of the actors that live in this job. The first call makes it:
  /// most jobs have no actors, and its threads would cost more than the rest of such a
  /// job.
  std::function<caf::actor_system&()> system;
  std::shared_ptr<ObjectSpace> objects;
  std::shared_ptr<wire::Leadership> leadership;
  std::uint64_t session = 0;    ///< NodeBoot::session_tag.
  std::string driver_host = {}; ///< NodeBoot::host.
  std::string address = {};     ///< See own_address(); empty: on the way to the driver.
  std::shared_ptr<ActorPort> actors; ///< For the program's own actors.

  /// Returns the address at which other jobs may reach this one. Throws WireError if
  /// there is none. Not for a job that has inherited its link.
  std::string own_address() const;

  /// Returns null if this process is not a job.
  static const ThisJob* get();
  static void set(ThisJob job);
};

} // namespace fiber::actors
