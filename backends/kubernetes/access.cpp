// SPDX-License-Identifier: Apache-2.0
#include "backends/kubernetes/access.hpp"

#include <algorithm>
#include <mutex>

#include "backends/registry.hpp"
#include "base/log.hpp"

namespace fiber::backends::kubernetes {

void check_namespace(const std::string& name, const std::string& place) {
  const char* const inner = "abcdefghijklmnopqrstuvwxyz0123456789-";
  bool good = !name.empty() && name.size() <= 63 && name.front() != '-' &&
              name.back() != '-' && name.find_first_not_of(inner) == name.npos;
  if (!good)
    throw AccessError("namespace", place,
                      "at most 63 lower-case letters, digits and, within, '-'",
                      "\"" + name + "\" can't name a namespace");
}

namespace {

void warn_of_any_certificate(const Access& access) {
  static std::once_flag once;
  std::call_once(once, [&] {
    log().warn("kubernetes: {} has insecure-skip-tls-verify: whoever answers at {} gets "
               "your credentials and the keys of workers; give its "
               "certificate-authority instead",
               access.source, access.endpoint.url);
  });
}

} // namespace

Access chosen_access(const ClusterSettings& settings) {
  auto access =
    settings.context.empty() && inside_pod()
      ? in_cluster({.name_space = settings.name_space})
      : from_kubeconfig(
          {.context = settings.context,
           .name_space = settings.name_space,
           .plaintext = std::ranges::count(parts_of(settings.allow), plaintext) > 0});
  if (access.endpoint.insecure)
    warn_of_any_certificate(access);
  return access;
}

} // namespace fiber::backends::kubernetes
