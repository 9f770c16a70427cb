// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

namespace fiber::clusters {

/// What a running test cluster has told when it came up (tests/clusters/NAME/up), by
/// name; nothing if it is not up.
using Cluster = std::optional<std::map<std::string, std::string>>;
Cluster docker();
Cluster podman(); ///< Its variables have the names that docker()'s have.
Cluster kubernetes();
Cluster slurm();
Cluster ssh();

/// Runs one of the scripts of a cluster that is up: "signal STOP". Its exit code. Those
/// of docker() and podman() can be run so.
int run_script(const Cluster& cluster, const std::string& command);

/// Runs a shell command in the cluster slurm(), such as "squeue --noheader", and returns
/// its stdout.
std::string ask_slurm(const std::string& command);

/// Runs tests/clusters/ssh/host with these words, such as "kill fiber-a", and returns its
/// stdout. Fails the running test if the script fails.
std::string ssh_host(const std::string& words);

/// Moves this process, which must not have threads yet, into the network that `variable`
/// of the cluster names, where the cluster's machines can be reached. Does nothing if the
/// cluster is not up.
void enter_network(const Cluster& cluster, const std::string& variable);

} // namespace fiber::clusters
