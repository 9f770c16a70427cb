// SPDX-License-Identifier: Apache-2.0
// kubernetes/ runs jobs as pods.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "backends/backend.hpp"
#include "backends/kubernetes/access.hpp"
#include "backends/output/status_lines.hpp"

namespace fiber::backends {

namespace kubernetes {

/// Descriptors of the driver that a job takes: link and log.
inline constexpr std::size_t descriptors_per_job = 2;

} // namespace kubernetes

/// Options of the kubernetes backend.
struct KubernetesOptions {
  kubernetes::Access access;
  std::string image;        ///< Empty: the image of this process's pod.
  std::string pod_template; ///< Path of a file; empty: none.
  bool restricted = true;   ///< Pods are what Pod Security's "restricted" admits.
  std::string gpu_key = "nvidia.com/gpu";
  std::map<std::string, std::string> environment;
  bool hide_gpus = true;      ///< A job that asks for no GPU sees none.
  bool forward_output = true; ///< Copy jobs' output to our stderr, with names.
  std::shared_ptr<StatusLines> terminal = {}; ///< Destination; null: a new one.
  std::string session = {}; ///< Marks what it makes; empty: a random one.
  /// How long after this process the anchor ends if its pod has other people's
  /// containers. Also how long the server may be away.
  std::chrono::seconds anchor_deadline{600};
};

/// Makes a backend whose jobs are pods. The session has one Job, its anchor, that owns
/// all pods and a Secret with the session's keys. The anchor ends when its link to this
/// process is closed; the server then removes everything.
///
/// Blocks until the server has answered. Throws EngineError: no server, no permission, no
/// image named; kubernetes::AccessError: the pod template.
std::unique_ptr<Backend> make_kubernetes(const KubernetesOptions& options);

} // namespace fiber::backends
