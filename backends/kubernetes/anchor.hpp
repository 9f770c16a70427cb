// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include <nlohmann/json.hpp>

#include "backends/backend.hpp"
#include "backends/engine/loop.hpp"
#include "backends/kubernetes/api.hpp"
#include "backends/kubernetes/manifests.hpp"

namespace fiber::backends::kubernetes {

/// The owner of a session's objects: a Job whose pod stays linked to the driver. When
/// that pod ends, the server removes the Job and what it owns: all pods, and the Secret
/// with the keys.
///
/// A pod to which a webhook adds a container, such as a mesh's sidecar, does not end with
/// our container. Then the Job has a deadline, which this process puts off while it
/// lives: after the deadline the server ends the Job and all of its pod. Before
/// Kubernetes 1.23 the server looks at a deadline that was put off only when the pod
/// changes, so our container stays until the deadline has passed, and its end is that
/// change.
class Anchor {
public:
  /// `deadline`: see KubernetesOptions::anchor_deadline.
  Anchor(Loop& loop, Api& api, Plan& plan, std::chrono::seconds deadline)
    : loop_(loop), api_(api), plan_(plan), deadline_(deadline) {}

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
  nlohmann::json create_job(JobSpec spec);
  void ask_for_admission(const nlohmann::json& job);
  void limit();
  http::Request new_deadline() const;
  void put_off_later();

  Loop& loop_;
  Api& api_;
  Plan& plan_;
  nlohmann::json owner_;
  const std::chrono::seconds deadline_;
  std::string company_; // The containers that webhooks add to the pod.
  Loop::Clock::time_point created_{};
  bool may_exist_ = false; // The objects may exist.
};

} // namespace fiber::backends::kubernetes
