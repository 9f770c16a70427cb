// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace fiber::backends::kubernetes {

/// Returns what Pod Security's level "restricted" (kubernetes.io, "Pod Security
/// Standards") would refuse in the spec of a pod, in the words of its rules.
inline std::vector<std::string> restricted_violations(const nlohmann::json& spec) {
  using nlohmann::json;
  std::vector<std::string> found;
  auto refuse = [&](bool wrong, const std::string& rule) {
    if (wrong)
      found.push_back(rule);
  };
  auto of_pod = spec.value("securityContext", json::object());
  for (auto* key : {"hostNetwork", "hostPID", "hostIPC"})
    refuse(spec.value(key, false), key);
  for (auto& volume : spec.value("volumes", json::array()))
    for (auto& [kind, source] : volume.items())
      refuse(kind != "name" && kind != "configMap" && kind != "csi" &&
               kind != "downwardAPI" && kind != "emptyDir" && kind != "ephemeral" &&
               kind != "persistentVolumeClaim" && kind != "projected" && kind != "secret",
             "volumes: " + kind);
  for (auto& container : spec.value("containers", json::array())) {
    auto own = container.value("securityContext", json::object());
    auto effective = [&](const char* key) {
      return own.contains(key) ? own[key] : of_pod.contains(key) ? of_pod[key] : json();
    };
    auto capabilities = own.value("capabilities", json::object());
    auto added = capabilities.value("add", json::array());
    refuse(own.value("privileged", false), "privileged");
    refuse(own.value("allowPrivilegeEscalation", true), "allowPrivilegeEscalation");
    refuse(capabilities.value("drop", json::array()) != json{"ALL"}, "capabilities.drop");
    refuse(!added.empty() && added != json{"NET_BIND_SERVICE"}, "capabilities.add");
    refuse(effective("runAsNonRoot") != true, "runAsNonRoot");
    refuse(effective("runAsUser") == 0, "runAsUser");
    auto profile = effective("seccompProfile");
    auto seccomp = profile.is_object() ? profile.value("type", "") : "";
    refuse(seccomp != "RuntimeDefault" && seccomp != "Localhost", "seccompProfile");
    for (auto& port : container.value("ports", json::array()))
      refuse(port.value("hostPort", 0) != 0, "hostPort");
    refuse(own.value("procMount", "Default") != "Default", "procMount");
  }
  return found;
}

} // namespace fiber::backends::kubernetes
