// SPDX-License-Identifier: Apache-2.0
// Containers of a real engine keep the contract.
#include "backends/docker/docker_backend.hpp"

#include "tests/backends/contract.hpp"
#include "tests/clusters/cluster.hpp"

namespace fiber::backends {

namespace {

DockerOptions options() {
  DockerOptions options;
  options.host = clusters::docker()->at("DOCKER_HOST");
  options.image = "localhost/fiber-test:docker_test";
  options.forward_output = false;
  return options;
}

BackendTraits traits() {
  return {.name = "docker",
          .make = [] { return make_docker(options()); },
          .missing = [] { return clusters::docker() ? "" : "no Docker engine is up"; },
          .links = false,
          .pages = false,
          .same_host = false};
}

} // namespace

INSTANTIATE_TEST_SUITE_P(docker, Jobs, testing::Values(traits()), traits_name);
INSTANTIATE_TEST_SUITE_P(docker, Processes, testing::Values(traits()), traits_name);

} // namespace fiber::backends
