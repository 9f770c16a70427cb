// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "backends/backend.hpp"
#include "backends/kubernetes/api.hpp"
#include "backends/kubernetes/manifests.hpp"

namespace fiber::backends::kubernetes {

/// The owner of a session's objects: a Job whose pod stays linked to the driver. When
/// that pod ends, the server removes the Job and what it owns: all pods, and the Secret
/// with the keys.
class Anchor {
public:
  Anchor(Api& api, Plan& plan) : api_(api), plan_(plan) {}

  /// Creates the Job and the Secret. Blocks until both exist. Throws EngineError, also if
  /// the namespace would refuse the Job's pod: such a Job would never end.
  void create(const JobSpec& spec);
  /// Returns the OwnerReference of all other objects; null before create(). The reference
  /// stays valid.
  const nlohmann::json& owner() const { return owner_; }
  /// Requests the removal of both; the server does the rest. Blocks for a few seconds at
  /// most.
  void remove();

private:
  nlohmann::json create_job(const JobSpec& spec);
  void ask_for_admission(const nlohmann::json& job);

  Api& api_;
  Plan& plan_;
  nlohmann::json owner_;
  bool may_exist_ = false; // The objects may exist.
};

} // namespace fiber::backends::kubernetes
