// SPDX-License-Identifier: Apache-2.0
#include "cli/ssh/ssh.hpp"

#include "fiber/error.hpp"
#include "libfiber/session/settings.hpp"

namespace fiber::cli {
namespace {

std::string detect_hosts() {
  auto values = resolve({}).backend_values;
  for (auto* key : {"ssh_hosts", "ssh_hostfile"})
    if (auto value = values[key]; !value.empty())
      return std::string(key) + " is " + value;
  return {};
}

/// Runs the driver as a process of this machine, or of the machine `on`.
int run_driver(const RunRequest& request) {
  return engine_called("local").run(request.on.empty() ? request
                                                       : ssh::started_here(request));
}

std::size_t refuse_copy(const CopyRequest& request) {
  throw Error("cp copies to volumes, and hosts that are reached by ssh have none; copy "
              "files by scp: scp FILE " +
              request.volume + ":" + request.path);
}

} // namespace

EngineTools ssh_tools() {
  return {.name = "ssh",
          .detect = detect_hosts,
          .diagnose = ssh::diagnose,
          .run = run_driver,
          .copy = refuse_copy};
}

} // namespace fiber::cli
