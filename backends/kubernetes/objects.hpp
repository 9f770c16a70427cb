// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "backends/backend.hpp"

namespace fiber::backends::kubernetes {

// Standard labels, by which our objects are found. The instance is the session.
inline constexpr auto instance_label = "app.kubernetes.io/instance";
inline constexpr auto component_label = "app.kubernetes.io/component";
inline constexpr auto managed_label = "app.kubernetes.io/managed-by";
inline constexpr auto job_annotation = "fiber/job"; ///< JobSpec::name
inline constexpr auto worker = "worker", anchor = "anchor";

/// What all objects of a session have in common.
struct Plan {
  std::string session;         ///< Random, one a backend.
  std::string image;           ///< Unless a job asks for another.
  bool own_image = false;      ///< `image` is that of the pod we are in.
  nlohmann::json template_pod; ///< The user's part of each pod; {} if there is none.
  std::string gpu_key = "nvidia.com/gpu";
  std::map<std::string, std::string> environment;
  std::string executable, directory;            ///< Of this process, for own_image.
  std::vector<std::string> arguments;           ///< Without argv[0].
  std::optional<std::chrono::seconds> deadline; ///< Of each pod; none: it has none.
  nlohmann::json owner; ///< OwnerReference of the driver's pod; null: none.
};

/// Of our container in the pod template, "" if it names none.
std::string template_image(const Plan& plan);
/// "fiber-SESSION", of the Secret and the anchor Job.
std::string base_name(const Plan& plan);
/// A name no longer than a label, the same if asked again.
std::string pod_name(const Plan& plan, const JobSpec& spec, std::uint64_t serial);

/// `owner`: of the anchor Job, once it exists.
nlohmann::json secret_body(const Plan& plan, const Bytes& keys,
                           const nlohmann::json& owner);
nlohmann::json pod_body(const Plan& plan, const JobSpec& spec, std::uint64_t serial,
                        const nlohmann::json& owner);
/// A Job that runs `spec` in one pod and that its end removes, and all it owns with it.
nlohmann::json anchor_body(const Plan& plan, const JobSpec& spec);
/// To own other objects by. `object` as the server returned it.
nlohmann::json owner_reference(const nlohmann::json& object, const std::string& version,
                               const std::string& kind);

/// `over` merged into `base`: objects key by key, lists of named things name by name, all
/// else replaced; an environment variable or a volume replaces the one of its name.
nlohmann::json merged(nlohmann::json base, const nlohmann::json& over);

/// Reads a pod template: a Pod, or the template of one, in YAML or JSON. Throws
/// AccessError that names file and line.
nlohmann::json read_pod_template(const std::string& path);

} // namespace fiber::backends::kubernetes
