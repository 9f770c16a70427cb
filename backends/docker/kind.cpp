// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/container/container_entry.hpp"
#include "backends/docker/docker_backend.hpp"
#include "backends/registry.hpp"

namespace fiber::backends {
namespace {

bool are_volumes(const std::string& text) {
  auto volumes = parts_of(text);
  return std::all_of(volumes.begin(), volumes.end(), [](auto& volume) {
    auto colon = volume.find(":/");
    return colon != volume.npos && colon > 0;
  });
}

bool are_allowed_words(const std::string& text) {
  return are_among(text, docker::allowed_words);
}

std::unique_ptr<Backend> make_docker_backend(const BackendOptions& options) {
  DockerOptions docker;
  docker.host = options.value("docker_host");
  docker.image = options.image;
  docker.network = options.value("docker_network");
  docker.user = options.value("docker_user");
  docker.volumes = parts_of(options.value("docker_volumes"));
  auto allowed = parts_of(options.value("docker_allow"));
  docker.allowed = {allowed.begin(), allowed.end()};
  docker.environment = options.environment;
  docker.hide_gpus = options.hide_gpus;
  docker.forward_output = options.forward_output;
  docker.terminal = options.terminal;
  docker.session = options.session;
  docker.lease = options.lease;
  return make_docker(docker);
}

std::optional<JobEntry> enter_docker_job(const std::string& role, const std::string&) {
  if (role != "stdin")
    return {};
  return enter_container(start_input());
}

} // namespace

BackendKind docker_kind() {
  return {
    .name = "docker",
    .keys = {{"docker_host", "unix:///PATH or tcp://HOST:PORT", is_word},
             {"docker_network", "host or the name of a network", is_word},
             {"docker_user", "a user of the image, UID or UID:GID; root", is_word},
             {"docker_allow",
              "writable_root, capabilities, new_privileges, processes, driver_volumes, "
              "plaintext; separated by commas",
              are_allowed_words},
             {"docker_volumes", "SOURCE:TARGET or SOURCE:TARGET:ro, separated by commas",
              are_volumes}},
    .detect = [] { return std::string(); },
    .make = make_docker_backend,
    .enter = enter_docker_job};
}

} // namespace fiber::backends
