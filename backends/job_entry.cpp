// SPDX-License-Identifier: Apache-2.0
#include "backends/job_entry.hpp"

#include <charconv>
#include <cstdlib>

#include "backends/container/container_entry.hpp"
#include "backends/kubernetes/pod_entry.hpp"
#include "backends/local/zygote.hpp"

namespace fiber::backends {

std::optional<JobEntry> enter_job() {
  const char* variable = std::getenv("FIBER_NODE");
  if (!variable)
    return {};
  std::string node = variable;
  ::unsetenv("FIBER_NODE");
  if (node == "stdin")
    return enter_container();
  auto colon = node.find(':');
  std::string role = node.substr(0, colon);
  if (colon != node.npos && role == kubernetes::pod_role)
    return kubernetes::enter_pod(node.substr(colon + 1));
  if (colon != node.npos && (role == "zygote" || role == "job")) {
    int fd = -1;
    const char* end = node.data() + node.size();
    auto parsed = std::from_chars(node.data() + colon + 1, end, fd);
    if (parsed.ec == std::errc() && parsed.ptr == end && fd > 2)
      return role == "zygote" ? local::enter_zygote(fd) : local::enter_plain(fd);
  }
  throw EngineError("enter job", 0,
                    "FIBER_NODE is \"" + node + "\", which nobody here set");
}

} // namespace fiber::backends
