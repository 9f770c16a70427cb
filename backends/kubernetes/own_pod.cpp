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

/// Returns the first container of a pod, or null.
json first_container(const json& pod) {
  auto& containers = part(pod, "spec", "containers");
  return containers.is_array() && !containers.empty() ? containers[0] : json();
}

/// Returns what jobs inherit of a pod: its pull secrets and its security contexts.
json template_of(const json& pod) {
  constexpr auto context = "securityContext";
  json spec = json::object();
  for (auto* key : {"imagePullSecrets", context})
    if (auto& value = part(pod, "spec", key); !value.empty())
      spec[key] = value;
  auto own = first_container(pod);
  if (auto& value = part(own, context); value.is_object())
    spec["containers"] = {{{"name", container_name}, {context, value}}};
  return {{"spec", spec}};
}

} // namespace

void complete_by_own_pod(Plan& plan, const json& pod) {
  plan.owner = owner_reference(pod, "v1", "Pod");
  auto own = first_container(pod);
  auto image = text(own, "image");
  if (plan.image.empty() || plan.image == image) {
    auto digest =
      image_by_digest(pod, text(own, "name")); // The tag may have moved since.
    plan.image = digest.empty() ? image : digest;
    plan.own_image = true;
  }
  plan.template_pod = merged(template_of(pod), plan.template_pod);
}

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
  complete_by_own_pod(plan, pod);
  auto address = text(pod, "status", "podIP");
  return address.empty() ? variable("POD_IP") : address;
}

} // namespace fiber::backends::kubernetes
