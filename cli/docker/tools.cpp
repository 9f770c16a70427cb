// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "cli/docker/client.hpp"
#include "cli/docker/docker.hpp"
#include "cli/docker/images.hpp"

namespace fiber::cli {
namespace {

std::string detect_docker() {
  if (const char* host = std::getenv("DOCKER_HOST"); host != nullptr && *host != '\0')
    return "DOCKER_HOST is set";
  if (!docker::configured_host().empty())
    return "docker_host is set";
  for (auto* socket : {"/var/run/docker.sock", "/run/podman/podman.sock"})
    if (::access(socket, F_OK) == 0)
      return std::string(socket) + " is there";
  return {};
}

void push(const std::string& name, std::string archive) {
  docker::Client client(docker::configured_host());
  docker::load_image(client, name, std::move(archive));
  docker::push_image(client, name);
}

} // namespace

EngineTools docker_tools() {
  return {.name = "docker",
          .detect = detect_docker,
          .diagnose = docker::diagnose,
          .run = docker::run,
          .copy = docker::copy,
          .push = push,
          .drivers = &docker::drivers};
}

} // namespace fiber::cli
