// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <caf/all.hpp>

#include "actors/actor_port.hpp"
#include "actors/restart_policy.hpp"
#include "fiber/actor.hpp"
#include "libfiber/runtime.hpp"

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
  /// Wherever it is by then.
  void find(const std::function<std::shared_ptr<Results>()>& ask);
  void found(const RawOutcome& answer);
  void finish(const caf::error& reason);

  caf::strong_actor_ptr proxy() const { return proxy_.lock(); }

  const std::shared_ptr<Runtime> runtime_;
  const Restart restart_;
  const std::shared_ptr<Manager> manager_;
  const CellCalls cell_;
  caf::weak_actor_ptr proxy_;
  // One at a time: it has one place, and asks for the next one when that is gone.
  actors::RestartWindow restarts_;
  int lost_in_a_row_ = 0;
};

} // namespace fiber::detail
