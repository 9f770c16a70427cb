// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "backends/engine/spawn.hpp"
#include "backends/kubernetes/base64.hpp"
#include "backends/kubernetes/kubeconfig_user.hpp"

namespace fiber::backends::kubernetes {

namespace {

const char* const v1 = "client.authentication.k8s.io/v1";
const char* const v1beta1 = "client.authentication.k8s.io/v1beta1";

std::string read_api_version(const Section& exec) {
  auto valid = std::string(v1) + ", " + v1beta1;
  auto version = exec.required("apiVersion", valid);
  if (version != v1 && version != v1beta1)
    exec.fail("apiVersion", "\"" + version + "\" is not supported", valid);
  return version;
}

/// Returns whether stdin is a terminal and this process in its foreground. In the
/// background a read from the terminal would stop the process group.
bool terminal_at_hand() {
  return ::isatty(STDIN_FILENO) != 0 && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

bool read_interactive(const Section& exec, const std::string& version) {
  const char* const valid = "Never, IfAvailable, Always";
  const char* const key = "interactiveMode";
  auto mode = version == v1 ? exec.required(key, valid) : exec.text(key);
  if (mode == "Never")
    return false;
  if (mode == "Always" && !terminal_at_hand())
    exec.fail(key, "\"Always\", but standard input is no terminal",
              "Never, IfAvailable; or run the program in a terminal");
  if (!mode.empty() && mode != "Always" && mode != "IfAvailable")
    exec.fail(key, "\"" + mode + "\" is unknown", valid);
  return terminal_at_hand();
}

std::string find_program(const Section& exec, const std::string& command,
                         const std::string& hint) {
  bool path = command.find('/') != command.npos;
  auto program = path ? exec.resolve(command) : find_in_path(command);
  if (path ? is_program(program) : !program.empty())
    return program;
  auto problem = path ? program + " is no program that can be run"
                      : "there is no \"" + command + "\" in PATH";
  exec.fail("command", problem,
            hint.empty() ? "a program that prints an ExecCredential" : hint);
}

/// Returns the description of the cluster for the plugin.
nlohmann::json describe(const Section& cluster, const http::Endpoint& endpoint) {
  nlohmann::json info{{"server", cluster.text("server")}};
  if (!endpoint.server_name.empty())
    info["tls-server-name"] = endpoint.server_name;
  if (endpoint.insecure)
    info["insecure-skip-tls-verify"] = true;
  if (!endpoint.ca_pem.empty())
    info["certificate-authority-data"] = encode_base64(endpoint.ca_pem);
  if (!endpoint.proxy.empty())
    info["proxy-url"] = endpoint.proxy;
  if (cluster.flag("disable-compression"))
    info["disable-compression"] = true;
  for (const auto& extension : cluster.sections("extensions"))
    if (extension.text("name") == "client.authentication.k8s.io/exec")
      info["config"] = nlohmann::json::parse(extension.json("extension"));
  return info;
}

std::string exec_info(const ExecPlugin& plugin, const Section& exec,
                      const Section& cluster, const http::Endpoint& endpoint) {
  nlohmann::json info{{"apiVersion", plugin.api_version}, {"kind", "ExecCredential"}};
  info["spec"]["interactive"] = plugin.interactive;
  if (exec.flag("provideClusterInfo"))
    info["spec"]["cluster"] = describe(cluster, endpoint);
  return info.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void set(std::vector<std::string>& environment, const std::string& name,
         const std::string& value) {
  std::erase_if(environment, [start = name + "="](const std::string& variable) {
    return variable.starts_with(start);
  });
  environment.push_back(name + "=" + value);
}

std::vector<std::string> read_environment(const Section& exec) {
  std::vector<std::string> environment;
  for (char** variable = ::environ; variable && *variable; ++variable)
    environment.emplace_back(*variable);
  for (const auto& variable : exec.sections("env"))
    set(environment, variable.required("name", "a name"), variable.text("value"));
  return environment;
}

} // namespace

ExecPlugin read_exec(const Section& exec, const Section& cluster, const Access& access) {
  ExecPlugin plugin;
  plugin.place = exec.place("command");
  plugin.api_version = read_api_version(exec);
  plugin.command = exec.required("command", "a program that prints an ExecCredential");
  plugin.install_hint = exec.text("installHint");
  plugin.args = exec.texts("args");
  plugin.interactive = read_interactive(exec, plugin.api_version);
  plugin.environment = read_environment(exec);
  set(plugin.environment, "KUBERNETES_EXEC_INFO",
      exec_info(plugin, exec, cluster, access.endpoint));
  plugin.program = find_program(exec, plugin.command, plugin.install_hint);
  return plugin;
}

} // namespace fiber::backends::kubernetes
