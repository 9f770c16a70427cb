// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "backends/backend.hpp"
#include "backends/resource_variables.hpp"

namespace fiber::backends::kubernetes {

// Standard labels, by which our objects are found. The instance is the session.
inline constexpr auto instance_label = "app.kubernetes.io/instance";
inline constexpr auto component_label = "app.kubernetes.io/component";
inline constexpr auto managed_label = "app.kubernetes.io/managed-by";
inline constexpr auto job_annotation = "fiber/job"; ///< JobSpec::name
inline constexpr auto worker = "worker", anchor = "anchor";

/// The common parts of a session's objects.
struct Plan {
  std::string session;         ///< Random, one per backend.
  std::string image;           ///< Default image of jobs.
  bool own_image = false;      ///< `image` is this process's own.
  nlohmann::json template_pod; ///< The user's pod template, or {}.
  bool restricted = true;      ///< Pods are what "restricted" admits, see security.hpp.
  std::string gpu_key = "nvidia.com/gpu";
  std::map<std::string, std::string> environment;
  ResourceVariables resource_variables{true};
  std::string executable, directory;            ///< This process's, for own_image.
  std::vector<std::string> arguments;           ///< Without argv[0].
  std::optional<std::chrono::seconds> deadline; ///< Deadline of each pod, if any.
  nlohmann::json owner; ///< OwnerReference of the driver's pod, or null.
};

/// Returns the image of our container in the pod template, or "".
std::string template_image(const Plan& plan);
/// Returns "fiber-SESSION", the name of the Secret and the anchor Job.
std::string base_name(const Plan& plan);
/// Returns a pod's name, at most as long as a label, the same each time.
std::string pod_name(const Plan& plan, const JobSpec& spec, std::uint64_t serial);

/// Return the objects' JSON. `owner` is the OwnerReference of the anchor Job.
nlohmann::json secret_body(const Plan& plan, const std::string& name, const Bytes& keys,
                           const nlohmann::json& owner);
nlohmann::json pod_body(const Plan& plan, const JobSpec& spec, std::uint64_t serial,
                        const nlohmann::json& owner);
/// Returns a Job that runs `spec` in one pod. The end of that pod removes the Job and all
/// that it owns.
nlohmann::json anchor_body(const Plan& plan, const JobSpec& spec);
/// Returns a pod as that Job makes them.
nlohmann::json anchor_pod(const nlohmann::json& job);
/// Returns the OwnerReference of `object`, which the server returned.
nlohmann::json owner_reference(const nlohmann::json& object, const std::string& version,
                               const std::string& kind);

/// Merges `over` into `base`: objects by key, lists of named items by name; other values
/// are replaced. An environment variable or volume replaces the one of its name.
nlohmann::json merged(nlohmann::json base, const nlohmann::json& over);

/// Reads a pod template: a Pod or PodTemplate in YAML or JSON. Throws AccessError, naming
/// file and line.
nlohmann::json read_pod_template(const std::string& path);

} // namespace fiber::backends::kubernetes
