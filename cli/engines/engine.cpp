// SPDX-License-Identifier: Apache-2.0
#include "cli/engines/engine.hpp"

#include <algorithm>
#include <string_view>

#include "backends/driver_variables.hpp"
#include "backends/registry.hpp"
#include "fiber/error.hpp"
#include "libfiber/session/setting_list.hpp"
#include "libfiber/session/settings.hpp"

namespace fiber::cli {
namespace {

/// Settings on what only this machine has.
constexpr std::string_view of_this_machine[] = {"backend",
                                                "image",
                                                "docker_host",
                                                "docker_network",
                                                "docker_volumes",
                                                "advertise_address",
                                                "environment",
                                                "kubernetes_context",
                                                "kubernetes_namespace",
                                                "kubernetes_pod_template",
                                                "ssh_command",
                                                "ssh_hostfile",
                                                "ssh_hosts"};

} // namespace

const EngineTools& engine_called(const std::string& name) {
  std::string names;
  for (auto& engine : engine_tools()) {
    if (engine.name == name)
      return engine;
    names += (names.empty() ? "" : ", ") + engine.name;
  }
  throw Error("there is no engine " + name + "; the engines are: " + names);
}

void refuse_container_options(const RunRequest& request) {
  auto refuse = [&](bool given, const char* option) {
    if (given)
      throw Error(std::string(option) + " is for engines with containers; on " +
                  (request.on.empty() ? request.backend : request.on) +
                  " the program runs as it is");
  };
  refuse(!request.image.empty(), "--image");
  refuse(request.build, "--build");
  refuse(request.push, "--push");
  refuse(!request.imports.empty(), "--import");
  refuse(!request.volumes.empty(), "--volume");
}

std::string backend_setting() {
  return resolve({}).backend;
}

std::string chosen_backend() {
  auto backend = backend_setting();
  if (backend != "auto")
    return backend;
  for (auto& kind : backends::backend_kinds())
    if (!kind.detect().empty())
      return kind.name;
  return "local";
}

std::map<std::string, std::string> carried_settings() {
  std::map<std::string, std::string> variables;
  for (auto& setting : list_settings().settings)
    if (setting.place != "default" &&
        (setting.key == "dashboard" ||
         !backends::is_for_driver_only(setting.variable)) && // Files, and a secret.
        std::ranges::count(of_this_machine, setting.key) == 0)
      variables[setting.variable] = setting.value;
  return variables;
}

} // namespace fiber::cli
