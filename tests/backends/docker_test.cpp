// SPDX-License-Identifier: Apache-2.0
// Containers of a real engine keep the contract.
#include "tests/backends/docker_fixture.hpp"

namespace fiber::backends {

namespace {

BackendTraits traits() {
  return {.name = "docker",
          .make = [] { return make_docker(docker_options()); },
          .missing = [] { return clusters::docker() ? "" : "no Docker engine is up"; },
          .links = false,
          .pages = false,
          .same_host = false};
}

} // namespace

INSTANTIATE_TEST_SUITE_P(docker, Jobs, testing::Values(traits()), traits_name);
INSTANTIATE_TEST_SUITE_P(docker, Processes, testing::Values(traits()), traits_name);

} // namespace fiber::backends
