// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdlib>

#include "backends/kubernetes/access.hpp"
#include "backends/kubernetes/watched_file.hpp"

namespace fiber::backends::kubernetes {

namespace {

const char* const host_variable = "KUBERNETES_SERVICE_HOST";
const char* const port_variable = "KUBERNETES_SERVICE_PORT";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string required(const char* name) {
  auto value = environment(name);
  if (value.empty())
    throw AccessError(name, "environment", "as Kubernetes sets it in a pod",
                      "is not set");
  return value;
}

std::string server() {
  auto host = required(host_variable);
  auto port = required(port_variable);
  if (host.find(':') != host.npos)
    host = "[" + host + "]";
  return "https://" + host + ":" + port;
}

WatchedFile mounted(const std::string& folder, const std::string& name) {
  WatchedFile file(folder + "/" + name);
  if (!file.error().empty())
    throw AccessError(name, file.path(),
                      "a service account's file; see automountServiceAccountToken",
                      file.error());
  return file;
}

} // namespace

bool inside_pod(const InClusterOptions& options) {
  return !environment(host_variable).empty() && !environment(port_variable).empty() &&
         ::access((options.folder + "/token").c_str(), R_OK) == 0;
}

Access in_cluster(const InClusterOptions& options) {
  Access access;
  access.endpoint.url = server();
  auto ca = mounted(options.folder, "ca.crt");
  if (ca.text().find("-----BEGIN ") == std::string::npos)
    throw AccessError("ca.crt", ca.path(), "certificates in PEM", "is no PEM");
  access.endpoint.ca_pem = ca.text();
  access.files.ca = options.folder + "/ca.crt";
  mounted(options.folder, "token");
  access.identity.token_file = options.folder + "/token";
  bool own = options.name_space.empty();
  access.name_space =
    own ? mounted(options.folder, "namespace").trimmed() : options.name_space;
  check_namespace(access.name_space, own ? options.folder + "/namespace" : "options");
  access.source = "in-cluster service account";
  return access;
}

} // namespace fiber::backends::kubernetes
