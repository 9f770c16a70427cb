// SPDX-License-Identifier: Apache-2.0
// caf/ connects the program's own CAF actors with a session and spawns supervised ones.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <caf/all.hpp>

#include "actors/caf/actor_port.hpp"
#include "actors/supervision/restart_policy.hpp"
#include "fiber/actor.hpp"
#include "libfiber/session/runtime.hpp"

namespace fiber::detail {

/// Supervises a spawned actor: points its proxy to the actor's place after each restart,
/// and ends the job with the actor. The cell is the managed object in the job that spawns
/// the actor; the place is the handle to the actor there.
class SpawnedActor final : public std::enable_shared_from_this<SpawnedActor> {
public:
  static caf::strong_actor_ptr start(std::shared_ptr<Runtime> runtime,
                                     const SpawnOptions& options, Manager manager,
                                     CellCalls cell);
  ~SpawnedActor();

private:
  SpawnedActor(std::shared_ptr<Runtime> runtime, const SpawnOptions& options,
               Manager manager, CellCalls cell);

  using PlacePtr = std::shared_ptr<actors::ObjectHandle>;

  void watch(const PlacePtr& place);
  void ended(const std::optional<caf::error>& reason);
  /// Asks the cell for the actor's place; `to_spawn` has it spawn the actor again.
  void find(bool to_spawn);
  void found(const RawOutcome& answer, bool to_spawn);
  void finish(const caf::error& reason);
  /// Returns `reason` with `text`, unless it has a text already.
  caf::error named(caf::error reason, const std::string& text) const;

  caf::strong_actor_ptr proxy() const { return proxy_.lock(); }

  const std::shared_ptr<Runtime> runtime_;
  const std::string name_; ///< For error messages.
  const Restart restart_;
  const std::shared_ptr<Manager> manager_;
  const CellCalls cell_;
  caf::weak_actor_ptr proxy_;
  // Not guarded: restarts happen one at a time.
  actors::RestartWindow restarts_;
};

} // namespace fiber::detail
