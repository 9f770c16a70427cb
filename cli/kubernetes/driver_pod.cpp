// SPDX-License-Identifier: Apache-2.0
#include "cli/kubernetes/driver_pod.hpp"

#include <cmath>
#include <cstdint>

#include "backends/kubernetes/manifests.hpp"
#include "backends/kubernetes/pod_state.hpp"
#include "backends/kubernetes/security.hpp"
#include "cli/engines/image.hpp"
#include "fiber/error.hpp"
#include "libfiber/session/settings.hpp"

namespace fiber::cli::kubernetes {
namespace {

using backends::kubernetes::container_name;
using nlohmann::json;

constexpr auto template_annotation = "fiber/pod-template";
constexpr auto template_volume = "fiber-template";
constexpr auto template_folder = "/etc/fiber-template";
constexpr double usual_cpu = 0.1; // A driver waits for its workers most of the time.

/// Returns a volume "SOURCE:TARGET[:ro]" as a part of a pod's spec.
json claim(const std::string& volume, std::size_t index) {
  auto colon = volume.find(":/");
  auto source = volume.substr(0, colon), target = volume.substr(colon + 1);
  if (source.find('/') != source.npos)
    throw Error("--volume " + volume +
                ": on kubernetes the source is a PersistentVolumeClaim, not a folder of "
                "this machine");
  bool read_only = target.ends_with(":ro");
  if (read_only)
    target.resize(target.size() - 3);
  auto name = "fiber-claim-" + std::to_string(index);
  return {
    {"volumes",
     {{{"name", name},
       {"persistentVolumeClaim", {{"claimName", source}, {"readOnly", read_only}}}}}},
    {"containers",
     {{{"name", container_name},
       {"volumeMounts",
        {{{"name", name}, {"mountPath", target}, {"readOnly", read_only}}}}}}}};
}

json environment_of(const RunRequest& request, bool has_template) {
  auto variables = carried_settings();
  if (has_template)
    variables["FIBER_KUBERNETES_POD_TEMPLATE"] =
      std::string(template_folder) + "/template";
  for (auto& [name, value] : request.environment)
    variables[name] = value;
  variables["FIBER_BACKEND"] = "kubernetes";
  auto from = [](const char* name, const char* path) {
    return json{{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", path}}}}}};
  };
  json list{from("POD_NAME", "metadata.name"), from("POD_IP", "status.podIP")};
  for (auto& [name, value] : variables)
    list.push_back({{"name", name}, {"value", value}});
  return list;
}

json resources_of(const RunRequest& request, const std::string& gpu_key) {
  auto cpu = request.cpu > 0 ? request.cpu : usual_cpu;
  json requests{{"cpu", std::to_string(std::lround(cpu * 1000)) + "m"}};
  json limits = json::object();
  if (request.memory_mb > 0)
    requests["memory"] = limits["memory"] = std::to_string(request.memory_mb) + "Mi";
  if (request.gpu > 0)
    limits[gpu_key] = request.gpu;
  return {{"requests", requests}, {"limits", limits}};
}

json template_file() {
  return {{"name", template_volume},
          {"downwardAPI",
           {{"items",
             {{{"path", "template"},
               {"fieldRef",
                {{"fieldPath", std::string("metadata.annotations['") +
                                 template_annotation + "']"}}}}}}}}};
}

} // namespace

json common_template(const std::vector<std::string>& volumes) {
  auto path = resolve({}).backend_values["kubernetes_pod_template"];
  auto pod = path.empty() ? json{{"metadata", json::object()}, {"spec", json::object()}}
                          : backends::kubernetes::read_pod_template(path);
  for (std::size_t i = 0; i < volumes.size(); ++i)
    pod["spec"] = backends::kubernetes::merged(pod["spec"], claim(volumes[i], i));
  return pod;
}

json driver_pod(const RunRequest& request, const std::string& image,
                const std::string& name) {
  auto values = resolve({}).backend_values;
  auto shared = common_template(request.volumes);
  bool has_template = !shared["spec"].empty();
  auto gpu_key = values["gpu_key"];
  json container{
    {"name", container_name},
    {"image", image},
    {"imagePullPolicy", "IfNotPresent"},
    {"env", environment_of(request, has_template)},
    {"resources", resources_of(request, gpu_key.empty() ? "nvidia.com/gpu" : gpu_key)},
    {"volumeMounts", json::array()}};
  if (!request.build) // Else the program is the image's entrypoint.
    container["command"] = {program_in_image(request.command.front())};
  if (request.command.size() > 1)
    container["args"] =
      std::vector<std::string>(request.command.begin() + 1, request.command.end());
  json spec{{"serviceAccountName", "fiber"},
            {"automountServiceAccountToken", true},
            {"restartPolicy", "Never"},
            {"volumes", json::array()}};
  json about{{"name", name},
             {"labels",
              {{"app.kubernetes.io/name", "fiber"},
               {backends::kubernetes::component_label, driver_component}}}};
  if (has_template) {
    about["annotations"][template_annotation] = shared.dump();
    container["volumeMounts"].push_back(
      {{"name", template_volume}, {"mountPath", template_folder}, {"readOnly", true}});
    spec["volumes"].push_back(template_file());
  }
  spec["containers"] = json::array({container});
  spec = backends::kubernetes::merged(shared["spec"], spec);
  if (values["kubernetes_security"] != "none")
    backends::kubernetes::restrict_pod(spec);
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", backends::kubernetes::merged(shared["metadata"], about)},
          {"spec", spec}};
}

} // namespace fiber::cli::kubernetes
