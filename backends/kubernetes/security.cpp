// SPDX-License-Identifier: Apache-2.0
#include "backends/kubernetes/security.hpp"

#include <algorithm>

#include "backends/container/lack.hpp"
#include "backends/kubernetes/pod_state.hpp"
#include "backends/kubernetes/reply_json.hpp"

namespace fiber::backends::kubernetes {

namespace {

using nlohmann::json;

constexpr int nobody = 65532; // Owns no file in usual images.
constexpr auto context = "securityContext", temporary_folder = "/tmp";
constexpr auto temporary_volume = "fiber-tmp";
constexpr int owner_reads = 0400, all_read = 0444;

constexpr Lack lacks[] = {
  {"violates podsecurity",
   "Fiber's own security context is the one that \"restricted\" admits, unless "
   "kubernetes_security=none; look for what kubernetes_pod_template adds"},
  {"read-only file system",
   "only /tmp and volumes are writable, unless kubernetes_pod_template says "
   "readOnlyRootFilesystem: false, or kubernetes_security=none"},
  {"operation not permitted",
   "workers have no capabilities, unless kubernetes_pod_template adds some, or "
   "kubernetes_security=none"},
  {"permission denied",
   "workers are user 65532, unless kubernetes_pod_template names another by runAsUser, "
   "or kubernetes_security=none"}};

json* container_of(json& spec) {
  for (auto& each : spec["containers"])
    if (text(each, "name") == container_name)
      return &each;
  return nullptr;
}

/// Returns `object`[`key`], made an object if it is missing; null if it is anything else.
json* object_in(json& object, const char* key) {
  auto& found = object[key];
  if (found.is_null())
    found = json::object();
  return found.is_object() ? &found : nullptr;
}

bool is_at(const json& mount, const char* path) {
  auto where = text(mount, "mountPath");
  return where == path || where == std::string(path) + "/";
}

/// Adds a /tmp, unless there is one, and makes it the home of a user without one.
void add_temporary_folder(json& spec, json& container, bool homeless) {
  auto& mounts = container["volumeMounts"];
  if (mounts.is_array() && std::none_of(mounts.begin(), mounts.end(), [](auto& mount) {
        return is_at(mount, temporary_folder);
      })) {
    mounts.push_back({{"name", temporary_volume}, {"mountPath", temporary_folder}});
    spec["volumes"].push_back(
      {{"name", temporary_volume}, {"emptyDir", {{"sizeLimit", "1Gi"}}}});
  }
  auto& variables = container["env"];
  if (homeless && variables.is_array() &&
      std::none_of(variables.begin(), variables.end(),
                   [](auto& each) { return text(each, "name") == "HOME"; }))
    variables.push_back({{"name", "HOME"}, {"value", temporary_folder}});
}

} // namespace

void restrict_pod(json& spec) {
  auto* container = container_of(spec);
  auto* of_pod = container ? object_in(spec, context) : nullptr;
  auto* own = of_pod ? object_in(*container, context) : nullptr;
  if (!own)
    return;
  auto told = [&](const char* key) {
    auto& near = part(*own, key);
    return near.is_null() ? part(*of_pod, key) : near;
  };
  auto add = [&](const char* key, const json& value) {
    if (told(key).is_null())
      (*own)[key] = value;
  };
  bool homeless = told("runAsUser").is_null();
  add("runAsUser", nobody);
  add("runAsGroup", told("runAsUser"));
  if (told("runAsUser") != 0) {
    add("runAsNonRoot", true);
    if (part(*of_pod, "fsGroup").is_null()) { // Who may read the keys.
      (*of_pod)["fsGroup"] = told("runAsGroup");
      of_pod->emplace("fsGroupChangePolicy", "OnRootMismatch");
    }
  }
  add("seccompProfile", {{"type", "RuntimeDefault"}});
  add("readOnlyRootFilesystem", true);
  if (told("privileged") != true) { // Which contradicts these.
    add("allowPrivilegeEscalation", false);
    add("capabilities", {{"drop", {"ALL"}}});
  }
  if (told("readOnlyRootFilesystem") == true)
    add_temporary_folder(spec, *container, homeless);
}

int keys_mode(const json& spec) {
  auto& of_pod = part(spec, context);
  bool known = part(of_pod, "fsGroup").is_number() || part(of_pod, "runAsUser") == 0;
  for (auto& each : part(spec, "containers"))
    if (text(each, "name") == container_name)
      known = known || part(each, context, "runAsUser") == 0;
  return known ? owner_reads : all_read;
}

std::string advice(std::string_view text) {
  return advice_for(text, lacks);
}

} // namespace fiber::backends::kubernetes
