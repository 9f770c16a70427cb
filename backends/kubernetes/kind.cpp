// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include "backends/kubernetes/access.hpp"
#include "backends/kubernetes/kubernetes_backend.hpp"
#include "backends/kubernetes/pod_entry.hpp"
#include "backends/registry.hpp"
#include "fiber/detail/classic_locale.hpp"

namespace fiber::backends {
namespace {

bool is_readable(const std::string& path) {
  return fiber::detail::Classic<std::ifstream>(path).good();
}

bool are_cluster_allowances(const std::string& text) {
  return are_among(text, kubernetes::allowed_words);
}

std::unique_ptr<Backend> make_kubernetes_backend(const BackendOptions& options) {
  KubernetesOptions pods;
  pods.access =
    kubernetes::chosen_access({.context = options.value("kubernetes_context"),
                               .name_space = options.value("kubernetes_namespace"),
                               .allow = options.value("kubernetes_allow")});
  pods.image = options.image;
  pods.pod_template = options.value("kubernetes_pod_template");
  pods.restricted = options.value("kubernetes_security") != "none";
  if (auto key = options.value("gpu_key"); !key.empty())
    pods.gpu_key = key;
  pods.environment = options.environment;
  pods.hide_gpus = options.hide_gpus;
  pods.forward_output = options.forward_output;
  pods.terminal = options.terminal;
  pods.session = options.session;
  pods.anchor_deadline = std::chrono::ceil<std::chrono::seconds>(10 * options.lease);
  return make_kubernetes(pods);
}

std::optional<JobEntry> enter_kubernetes_job(const std::string& role,
                                             const std::string& rest) {
  if (role != kubernetes::pod_role)
    return {};
  return kubernetes::enter_pod(rest);
}

} // namespace

BackendKind kubernetes_kind() {
  return {.name = "kubernetes",
          .keys = {{"kubernetes_namespace", "the name of a namespace", is_word},
                   {"kubernetes_context", "a context of the kubeconfig", is_word},
                   {"kubernetes_pod_template", "the path of a file that can be read",
                    is_readable},
                   {"kubernetes_security", "restricted, none",
                    [](const std::string& text) {
                      return text == "restricted" || text == "none";
                    }},
                   {"kubernetes_allow", "plaintext", are_cluster_allowances},
                   {"gpu_key", "a resource such as nvidia.com/gpu", is_word}},
          .detect =
            [] {
              return std::string(kubernetes::inside_pod()
                                   ? "this process is in a pod with a service account"
                                   : "");
            },
          .make = make_kubernetes_backend,
          .enter = enter_kubernetes_job};
}

} // namespace fiber::backends
