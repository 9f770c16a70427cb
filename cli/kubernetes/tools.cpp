// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdlib>

#include "backends/kubernetes/access.hpp"
#include "cli/kubernetes/kubernetes.hpp"

namespace fiber::cli {
namespace {

std::string detect_kubernetes() {
  if (backends::kubernetes::inside_pod())
    return "this is a pod";
  if (const char* files = std::getenv("KUBECONFIG"); files != nullptr && *files != '\0')
    return "KUBECONFIG is set";
  const char* home = std::getenv("HOME");
  auto file = std::string(home == nullptr ? "" : home) + "/.kube/config";
  return ::access(file.c_str(), F_OK) == 0 ? file + " is there" : "";
}

} // namespace

EngineTools kubernetes_tools() {
  return {.name = "kubernetes",
          .detect = detect_kubernetes,
          .diagnose = kubernetes::diagnose,
          .run = kubernetes::run,
          .copy = kubernetes::copy,
          .drivers = &kubernetes::drivers};
}

} // namespace fiber::cli
