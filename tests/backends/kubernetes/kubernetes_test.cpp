// SPDX-License-Identifier: Apache-2.0
// The promise: pods of a real cluster keep the contract.
#include "backends/kubernetes/kubernetes_backend.hpp"

#include "tests/backends/contract.hpp"
#include "tests/clusters/cluster.hpp"

namespace fiber::backends {

namespace {

KubernetesOptions options() {
  KubernetesOptions options;
  options.access =
    kubernetes::from_kubeconfig({.files = clusters::kubernetes()->at("KUBECONFIG")});
  options.image = "localhost/fiber-test:kubernetes_test";
  options.forward_output = false;
  return options;
}

/// Uses an anchor, whose end would end all pods.
std::unique_ptr<Backend> make() {
  auto backend = make_kubernetes(options());
  auto anchor = BackendTest::spec("anchor", "wait");
  anchor.resources.cpu = 0.01;
  backend->anchor(anchor);
  return backend;
}

BackendTraits traits() {
  return {
    .name = "kubernetes",
    .make = make,
    .missing = [] { return clusters::kubernetes() ? "" : "no Kubernetes cluster is up"; },
    .links = false,
    .pages = false,
    .same_host = false,
    .exact_ends = false,
    .max_boot_bytes = 32 * 1024,
    .flood_bytes = 1200000,
    .cpu = 0.02};
}

} // namespace

INSTANTIATE_TEST_SUITE_P(kubernetes, Jobs, testing::Values(traits()), traits_name);
INSTANTIATE_TEST_SUITE_P(kubernetes, Processes, testing::Values(traits()), traits_name);

} // namespace fiber::backends
