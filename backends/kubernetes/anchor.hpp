// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "backends/backend.hpp"
#include "backends/kubernetes/api.hpp"
#include "backends/kubernetes/objects.hpp"

namespace fiber::backends::kubernetes {

/// What holds a session's objects: a Job whose pod stays linked to the driver, and that
/// the server removes when that pod ends; and, owned by it as all pods are, the Secret
/// with the keys.
class Anchor {
public:
  Anchor(Api& api, Plan& plan) : api_(api), plan_(plan) {}

  /// Blocks until both exist. Throws EngineError.
  void create(const JobSpec& spec);
  /// Of everything else; null before create(). Stays where it is.
  const nlohmann::json& owner() const { return owner_; }
  /// Asks for the end of both; the server does the rest. Blocks for a few seconds at
  /// most.
  void remove();

private:
  nlohmann::json create_job(const JobSpec& spec);

  Api& api_;
  Plan& plan_;
  nlohmann::json owner_;
  bool asked_ = false; // There may be something to remove.
};

} // namespace fiber::backends::kubernetes
