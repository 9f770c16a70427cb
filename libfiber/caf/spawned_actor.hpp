// SPDX-License-Identifier: Apache-2.0
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

/// Sees to it that the proxy of a spawned actor has a place as long as its options say,
/// and ends its job with it.
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
  /// Wherever it is by then, or where it starts again.
  void find(bool to_spawn);
  void found(const RawOutcome& answer, bool to_spawn);
  void finish(const caf::error& reason);
  /// The same reason with words, if it has none.
  caf::error named(caf::error reason, const std::string& text) const;

  caf::strong_actor_ptr proxy() const { return proxy_.lock(); }

  const std::shared_ptr<Runtime> runtime_;
  const std::string name_; ///< For errors.
  const Restart restart_;
  const std::shared_ptr<Manager> manager_;
  const CellCalls cell_;
  caf::weak_actor_ptr proxy_;
  // One at a time: it has one place, and asks for the next one when that is gone.
  actors::RestartWindow restarts_;
};

} // namespace fiber::detail
