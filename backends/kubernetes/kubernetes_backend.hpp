// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>

#include "backends/backend.hpp"
#include "backends/kubernetes/access.hpp"
#include "backends/output/status_lines.hpp"

namespace fiber::backends {

/// How pods are made.
struct KubernetesOptions {
  kubernetes::Access access;
  std::string image;        ///< Empty: that of the pod this process is in.
  std::string pod_template; ///< Path of a file; empty: none.
  std::string gpu_key = "nvidia.com/gpu";
  std::map<std::string, std::string> environment;
  bool forward_output = true; ///< Show what jobs write on our stderr, with their names.
  std::shared_ptr<StatusLines> terminal = {}; ///< Where to; null: one of its own.
};

/// Jobs are pods. The session has one Job, its anchor, that owns a Secret with the
/// session's keys and all pods; it ends when its link to this process is closed, and the
/// server then removes everything.
///
/// Blocks until the server has answered. Throws EngineError: no server, no permission, no
/// image named; kubernetes::AccessError: the pod template.
std::unique_ptr<Backend> make_kubernetes(const KubernetesOptions& options);

} // namespace fiber::backends
