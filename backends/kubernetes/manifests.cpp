// SPDX-License-Identifier: Apache-2.0
#include "backends/kubernetes/manifests.hpp"

#include <algorithm>
#include <cmath>

#include "backends/kubernetes/base64.hpp"
#include "backends/kubernetes/pod_entry.hpp"
#include "backends/kubernetes/pod_state.hpp"
#include "backends/kubernetes/reply_json.hpp"
#include "backends/kubernetes/security.hpp"
#include "base/ascii.hpp"

namespace fiber::backends::kubernetes {

namespace {

using nlohmann::json;

constexpr std::size_t longest_name = 63; // The limit of a host name.
constexpr auto keys_volume = "fiber-keys";

std::string encode(const Bytes& bytes) {
  return encode_base64({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

json metadata(const Plan& plan, const std::string& name, const char* component,
              const json& owner) {
  json made{{"name", name},
            {"labels",
             {{"app.kubernetes.io/name", "fiber"},
              {managed_label, "fiber"},
              {instance_label, plan.session},
              {component_label, component}}}};
  if (!owner.is_null())
    made["ownerReferences"] = {owner};
  return made;
}

json field_variable(const char* name, const char* field) {
  return {{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", field}}}}}};
}

/// Returns our container in the pod template.
const json& container_of_template(const Plan& plan) {
  return named(part(plan.template_pod, "spec", "containers"), container_name);
}

/// Returns whether the pod template gives pods devices, which Resources do not mention.
bool template_has_devices(const Plan& plan) {
  auto& limits = part(container_of_template(plan), "resources", "limits");
  return !part(plan.template_pod, "spec", "resourceClaims").empty() ||
         std::ranges::any_of(limits.items(), [](auto& limit) { // "nvidia.com/gpu"
           return limit.key().find('/') != std::string::npos;
         });
}

json environment(const Plan& plan, const JobSpec& spec) {
  auto variables = plan.environment;
  for (auto& [name, value] : spec.environment)
    variables[name] = value;
  auto resources = spec.resources;
  resources.gpu += template_has_devices(plan) ? 1 : 0;
  auto& in_template = part(container_of_template(plan), "env");
  for (auto& [name, value] : plan.resource_variables.of(resources))
    if (named(in_template, name).is_null())
      variables.try_emplace(name, value);
  variables["FIBER_NODE"] = std::string(pod_role) + ":" + encode(spec.boot);
  json list = json::array();
  for (auto& [name, value] : variables)
    list.push_back({{"name", name}, {"value", value}});
  list.push_back(field_variable("POD_NAME", "metadata.name"));
  list.push_back(field_variable("POD_NAMESPACE", "metadata.namespace"));
  list.push_back(field_variable("POD_UID", "metadata.uid"));
  list.push_back(field_variable("POD_IP", "status.podIP"));
  list.push_back(field_variable("NODE_NAME", "spec.nodeName"));
  return list;
}

/// Returns requests and limits. CPU has no limit, which would slow down a simulator that
/// has the node to itself. Memory's request equals its limit.
json resources(const Plan& plan, const JobResources& wanted) {
  json requests{{"cpu", std::to_string(std::lround(wanted.cpu * 1000)) + "m"}};
  json limits = json::object();
  if (wanted.memory_mb > 0)
    requests["memory"] = limits["memory"] = std::to_string(wanted.memory_mb) + "Mi";
  if (wanted.gpu > 0) // Extended resources are requested by their limits.
    limits[plan.gpu_key] = std::to_string(wanted.gpu);
  return {{"requests", requests}, {"limits", limits}};
}

json pod_spec(const Plan& plan, const JobSpec& spec, const std::string& secret) {
  json container{
    {"name", container_name},
    {"image", spec.image.empty() ? plan.image : spec.image},
    {"args", plan.arguments},
    {"env", environment(plan, spec)},
    {"resources", resources(plan, spec.resources)},
    {"terminationMessagePolicy", "FallbackToLogsOnError"},
    {"volumeMounts",
     {{{"name", keys_volume}, {"mountPath", keys_folder}, {"readOnly", true}}}}};
  if (plan.own_image && spec.image.empty()) {
    container["command"] = {plan.executable};
    container["workingDir"] = plan.directory;
  }
  json ours{{"restartPolicy", "Never"},
            {"automountServiceAccountToken", false},
            {"enableServiceLinks", false},
            {"containers", {container}},
            {"volumes", {{{"name", keys_volume}, {"secret", {{"secretName", secret}}}}}}};
  if (plan.deadline)
    ours["activeDeadlineSeconds"] = plan.deadline->count();
  auto made = merged(plan.template_pod.value("spec", json::object()), ours);
  if (plan.restricted)
    restrict_pod(made);
  for (auto& volume : made["volumes"])
    if (text(volume, "name") == keys_volume)
      volume["secret"]["defaultMode"] = keys_mode(made);
  return made;
}

/// Returns the plan for the anchor: without devices and claims of devices, and without
/// sidecars, which would outlive it.
Plan without_company(Plan plan) {
  auto ours = json::array();
  for (auto container : part(plan.template_pod, "spec", "containers"))
    if (text(container, "name") == container_name) {
      container.erase("resources");
      ours.push_back(container);
    }
  auto& spec = plan.template_pod["spec"];
  spec["containers"] = ours;
  if (spec.is_object())
    spec.erase("resourceClaims");
  return plan;
}

/// Returns the marks by which meshes leave a pod without a sidecar. The pod template may
/// have others.
json without_mesh(const Plan& plan) {
  json marks{{"labels", {{"sidecar.istio.io/inject", "false"}}},
             {"annotations",
              {{"sidecar.istio.io/inject", "false"}, {"linkerd.io/inject", "disabled"}}}};
  for (auto& [kind, values] : marks.items())
    for (auto& [key, value] : values.items())
      if (auto& given = part(plan.template_pod, "metadata", kind.c_str(), key.c_str());
          given.is_string())
        value = given;
  return marks;
}

bool is_named(const json& list) {
  return list.is_array() && std::all_of(list.begin(), list.end(), [](auto& each) {
           return each.is_object() && each.contains("name");
         });
}

/// Merges lists by name. With `whole`, an item replaces the one of the same name.
json merged_lists(json base, const json& over, bool whole) {
  if (!is_named(base) || !is_named(over))
    return over;
  for (auto& each : over) {
    auto same = std::find_if(base.begin(), base.end(),
                             [&](auto& known) { return known["name"] == each["name"]; });
    if (same == base.end())
      base.push_back(each);
    else
      *same = whole ? each : merged(*same, each);
  }
  return base;
}

} // namespace

std::string template_image(const Plan& plan) {
  return text(container_of_template(plan), "image");
}

std::string base_name(const Plan& plan) {
  return "fiber-" + plan.session;
}

std::string pod_name(const Plan& plan, const JobSpec& spec, std::uint64_t serial) {
  auto name = base_name(plan) + "-";
  for (char c : spec.name)
    name += ascii::is_letter_or_digit(c) ? ascii::lower(c) : '-';
  auto number = std::to_string(serial);
  name.resize(std::min(name.size(), longest_name - number.size() - 1));
  return name + "-" + number;
}

json secret_body(const Plan& plan, const std::string& name, const Bytes& keys,
                 const json& owner) {
  auto component = name == base_name(plan) ? anchor : worker;
  return {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"metadata", metadata(plan, name, component, owner)},
          {"type", "Opaque"},
          {"immutable", true},
          {"data", {{keys_file, encode(keys)}}}};
}

json pod_body(const Plan& plan, const JobSpec& spec, std::uint64_t serial,
              const json& owner) {
  auto name = pod_name(plan, spec, serial);
  auto about = metadata(plan, name, worker, owner);
  for (auto& [name, value] : spec.labels)
    about["labels"][name] = value;
  about["annotations"][job_annotation] = spec.name;
  // Its /tmp is a volume, which would keep the autoscaler of the cluster from its node.
  about["annotations"]["cluster-autoscaler.kubernetes.io/safe-to-evict"] = "true";
  return {
    {"apiVersion", "v1"},
    {"kind", "Pod"},
    {"metadata", merged(plan.template_pod.value("metadata", json::object()), about)},
    {"spec", pod_spec(plan, spec, name)}};
}

json anchor_body(const Plan& plan_of_pods, const JobSpec& spec) {
  auto plan = without_company(plan_of_pods);
  constexpr int tries = 100; // Retries after lost nodes; the anchor itself exits with 0.
  // Exit codes of a container that cannot start. Before Kubernetes 1.26 all are retried.
  json policy{
    {"rules",
     {{{"action", "Ignore"},
       {"onPodConditions", {{{"type", "DisruptionTarget"}, {"status", "True"}}}}},
      {{"action", "FailJob"},
       {"onExitCodes",
        {{"containerName", container_name},
         {"operator", "In"},
         {"values", {126, 127, 128}}}}}}}};
  auto about =
    merged(without_mesh(plan), metadata(plan, base_name(plan), anchor, nullptr));
  about.erase("name"); // Its pods get their own names.
  json job{{"apiVersion", "batch/v1"},
           {"kind", "Job"},
           {"metadata", metadata(plan, base_name(plan), anchor, plan.owner)},
           {"spec",
            {{"ttlSecondsAfterFinished", 0},
             {"backoffLimit", tries},
             {"podFailurePolicy", policy},
             {"template",
              {{"metadata", about}, {"spec", pod_spec(plan, spec, base_name(plan))}}}}}};
  return job;
}

json anchor_pod(const json& job) {
  auto pod = part(job, "spec", "template");
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  pod["metadata"]["name"] = text(job, "metadata", "name") + "-anchor";
  return pod;
}

json owner_reference(const json& object, const std::string& version,
                     const std::string& kind) {
  return {{"apiVersion", version},
          {"kind", kind},
          {"name", text(object, "metadata", "name")},
          {"uid", text(object, "metadata", "uid")},
          {"controller", false}};
}

json merged(json base, const json& over) {
  if (!base.is_object() || !over.is_object())
    return base.is_array() && over.is_array() ? merged_lists(base, over, false) : over;
  for (auto& [key, value] : over.items()) {
    auto& before = base[key];
    bool choice = key == "env" || key == "volumes"; // Items whose sources must not mix.
    before = choice ? merged_lists(before, value, true) : merged(before, value);
  }
  return base;
}

} // namespace fiber::backends::kubernetes
