// SPDX-License-Identifier: Apache-2.0
#include "tests/clusters/cluster.hpp"

#include <fcntl.h>
#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <utility>

#include <gtest/gtest.h>

#include "base/unique_fd.hpp"

namespace fiber::clusters {

namespace {

Cluster read_cluster(const char* state_variable, const std::string& usual_state) {
  const char* state = std::getenv(state_variable);
  std::ifstream file((state ? state : usual_state) + "/env");
  if (!file)
    return {};
  std::map<std::string, std::string> told;
  for (std::string line; std::getline(file, line);)
    if (auto equals = line.find('='); equals != line.npos)
      told[line.substr(0, equals)] = line.substr(equals + 1);
  return told;
}

/// Runs a shell command. Returns its stdout and its status.
std::pair<std::string, int> output_of(const std::string& command) {
  FILE* pipe = ::popen(command.c_str(), "r");
  if (!pipe)
    return {"", -1};
  std::string output;
  char piece[4096];
  while (std::fgets(piece, sizeof piece, pipe))
    output += piece;
  return {output, ::pclose(pipe)};
}

} // namespace

Cluster docker() {
  return read_cluster("DOCKER_STATE", "/var/tmp/fiber-docker");
}

Cluster podman() {
  return read_cluster("PODMAN_STATE", "/var/tmp/fiber-podman");
}

Cluster kubernetes() {
  return read_cluster("K8S_STATE", "/var/tmp/fiber-k8s");
}

Cluster slurm() {
  return read_cluster("SLURM_STATE", "/var/tmp/fiber-slurm");
}

Cluster ssh() {
  return read_cluster("SSH_STATE", "/var/tmp/fiber-ssh");
}

std::string ask_slurm(const std::string& command) {
  return output_of("SLURM_CONF=" + slurm()->at("SLURM_CONF") + " timeout 30 " + command)
    .first;
}

std::string ssh_host(const std::string& words) {
  auto [output, status] = output_of(ssh()->at("SSH_SCRIPTS") + "/host " + words);
  EXPECT_EQ(status, 0) << "host " << words;
  return output;
}

int run_script(const Cluster& cluster, const std::string& command) {
  return std::system((cluster->at("DOCKER_SCRIPTS") + "/" + command).c_str());
}

void enter_network(const Cluster& cluster, const std::string& variable) {
  if (!cluster)
    return;
  UniqueFd network(::open(cluster->at(variable).c_str(), O_RDONLY | O_CLOEXEC));
  if (!network || ::setns(network.get(), CLONE_NEWNET) != 0)
    std::perror(("enter " + cluster->at(variable)).c_str());
}

} // namespace fiber::clusters
