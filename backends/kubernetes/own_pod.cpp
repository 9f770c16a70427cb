// SPDX-License-Identifier: Apache-2.0
#include "backends/kubernetes/own_pod.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>

#include <unistd.h>

#include "backends/kubernetes/access.hpp"
#include "backends/kubernetes/images.hpp"
#include "backends/kubernetes/pod_state.hpp"
#include "backends/kubernetes/reply_json.hpp"
#include "base/log.hpp"

namespace fiber::backends::kubernetes {

namespace {

using nlohmann::json;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// Returns POD_NAME, which the downward API may set, or the host name, which is the name
/// of most pods.
std::string own_name() {
  if (auto name = variable("POD_NAME"); !name.empty())
    return name;
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// Returns what jobs inherit of a pod: who may pull its image, and what it may do.
json template_of(const json& pod) {
  constexpr auto context = "securityContext";
  json spec = json::object();
  for (auto* key : {"imagePullSecrets", context})
    if (auto& value = part(pod, "spec", key); !value.empty())
      spec[key] = value;
  auto& containers = part(pod, "spec", "containers");
  if (containers.is_array() && !containers.empty())
    if (auto& value = part(containers[0], context); value.is_object())
      spec["containers"] = {{{"name", container_name}, {context, value}}};
  return {{"spec", spec}};
}

} // namespace

std::string read_own_pod(Api& api, Plan& plan) {
  if (!inside_pod())
    return {};
  auto reply = api.call({.path = api.path("pods", own_name())});
  auto pod = parse_reply(reply.body);
  if (!reply.ok() || text(pod, "metadata", "uid").empty()) {
    log().warn(
      "kubernetes: this process's own pod is not known ({}), so that jobs are not "
      "removed with it; let the downward API set POD_NAME",
      problem(reply));
    return variable("POD_IP");
  }
  plan.owner = owner_reference(pod, "v1", "Pod");
  auto& containers = part(pod, "spec", "containers");
  auto own = containers.is_array() && !containers.empty() ? text(containers[0], "image")
                                                          : std::string();
  if (plan.image.empty() || plan.image == own) {
    plan.image = own;
    plan.own_image = true;
    if (auto digest = image_by_digest(pod, text(containers[0], "name")); !digest.empty())
      plan.image = digest; // The tag may have moved since.
  }
  plan.template_pod = merged(template_of(pod), plan.template_pod);
  auto address = text(pod, "status", "podIP");
  return address.empty() ? variable("POD_IP") : address;
}

} // namespace fiber::backends::kubernetes
