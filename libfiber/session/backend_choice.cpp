// SPDX-License-Identifier: Apache-2.0
#include "libfiber/session/backend_choice.hpp"

#include <utility>

#include "backends/docker/docker_backend.hpp"
#include "backends/kubernetes/kubernetes_backend.hpp"
#include "backends/local/local_backend.hpp"
#include "base/log.hpp"

namespace fiber::detail {
namespace {

std::shared_ptr<backends::Backend>
make_local(const Settings& settings, std::shared_ptr<backends::StatusLines> terminal) {
  backends::LocalOptions options;
  options.plain_spawn = settings.zygote == "never";
  options.forward_output = settings.forward_output;
  options.terminal = std::move(terminal);
  return backends::make_local(std::move(options));
}

std::shared_ptr<backends::Backend>
make_docker(const Settings& settings, std::shared_ptr<backends::StatusLines> terminal) {
  backends::DockerOptions options;
  options.host = settings.docker_host;
  options.image = settings.image;
  options.network = settings.docker_network;
  options.volumes = settings.docker_volumes;
  options.environment = settings.environment;
  options.forward_output = settings.forward_output;
  options.terminal = std::move(terminal);
  options.lease = settings.lease;
  return backends::make_docker(options);
}

std::shared_ptr<backends::Backend>
make_kubernetes(const Settings& settings,
                std::shared_ptr<backends::StatusLines> terminal) {
  backends::KubernetesOptions options;
  auto& name_space = settings.kubernetes_namespace;
  options.access =
    settings.kubernetes_context.empty() && backends::kubernetes::inside_pod()
      ? backends::kubernetes::in_cluster({.name_space = name_space})
      : backends::kubernetes::from_kubeconfig(
          {.context = settings.kubernetes_context, .name_space = name_space});
  options.image = settings.image;
  options.pod_template = settings.kubernetes_pod_template;
  options.gpu_key = settings.gpu_key;
  options.environment = settings.environment;
  options.forward_output = settings.forward_output;
  options.terminal = std::move(terminal);
  return backends::make_kubernetes(options);
}

} // namespace

std::shared_ptr<backends::Backend>
make_backend(const Settings& settings, std::shared_ptr<backends::StatusLines> terminal) {
  if (settings.backend == "docker")
    return make_docker(settings, std::move(terminal));
  if (settings.backend == "kubernetes")
    return make_kubernetes(settings, std::move(terminal));
  if (settings.backend == "auto" && backends::kubernetes::inside_pod()) {
    log().info("backend kubernetes: this process is in a pod with a service account");
    return make_kubernetes(settings, std::move(terminal));
  }
  if (settings.backend == "auto")
    log().info("backend local: no cluster was named, and this is no pod");
  return make_local(settings, std::move(terminal));
}

} // namespace fiber::detail
