// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

namespace fiber {

/// What a session can be told. Each setting comes from the first of: this struct, the
/// environment (FIBER_ and the key in capitals), the section [default] of .fiberconfig in
/// the working directory, its default. docs/configuration.md has valid values.
struct Config {
  /// Where jobs run: "auto" (kubernetes within a pod, else local), "local",
  /// "inline", "docker", "kubernetes". Default auto.
  std::optional<std::string> backend = {};
  /// Jobs that may be starting at once. Default 64.
  std::optional<std::size_t> workers_start_window = {};
  /// A worker that is silent for so long is replaced. Default 10 s.
  std::optional<std::chrono::milliseconds> heartbeat_timeout = {};
  /// A job that hears nothing from the driver for so long ends itself. Default 60 s; at
  /// least twice heartbeat_timeout.
  std::optional<std::chrono::milliseconds> lease = {};
  /// A job that is not ready after so long has failed to start. Default 60 s.
  std::optional<std::chrono::milliseconds> start_deadline = {};
  /// How jobs talk to the driver: "auto" (a socket pair for local jobs), "tls". Default
  /// auto.
  std::optional<std::string> link = {};
  /// Whether what jobs print is forwarded to the driver's stderr, each line with its
  /// job's name. Default true.
  std::optional<bool> forward_output = {};
  /// "trace", "debug", "info", "warn", "error" or "off". Default warn.
  std::optional<std::string> log_level = {};
  /// Whether local workers are forked by a zygote ("auto") or each started anew
  /// ("never"): see docs/backends/local.md. Default auto.
  std::optional<std::string> zygote = {};
  /// "kill=P,stall=P,seed=N": faults on demand, to see that the program stands them. As a
  /// task of a pool, or a ring's member, starts its job is killed, or stopped for half to
  /// one and a half heartbeat_timeouts, with these probabilities; never in the last run
  /// that a task is allowed, nor with the inline backend. Default none.
  std::optional<std::string> chaos = {};
  /// A file for a trace of every task, worker and retry; see docs/looking-inside.md.
  /// Default none.
  std::optional<std::string> trace = {};
  /// "HOST:PORT" where the driver tells Prometheus about its pools. Default none.
  std::optional<std::string> metrics = {};
  /// "HOST" or "HOST:PORT" by which jobs reach the driver. Default: as the backend finds.
  std::optional<std::string> advertise_address = {};
  /// The image that jobs run in. Default: that of the driver's own container.
  std::optional<std::string> image = {};
  /// "NAME=VALUE" or "NAME" (with the driver's value), separated by commas: variables for
  /// jobs in containers. Default none.
  std::optional<std::string> environment = {};
  /// "unix:///PATH" or "tcp://HOST:PORT" of the engine. Default: $DOCKER_HOST, else the
  /// usual sockets of Docker and Podman.
  std::optional<std::string> docker_host = {};
  /// The network that containers are in, "host" or the name of one. Default: that of the
  /// driver's own container, else host.
  std::optional<std::string> docker_network = {};
  /// "SOURCE:TARGET" or "SOURCE:TARGET:ro", separated by commas. Default none.
  std::optional<std::string> docker_volumes = {};
  /// Where pods are made. Default: the driver's pod's, else the context's.
  std::optional<std::string> kubernetes_namespace = {};
  /// Of the kubeconfig ($KUBECONFIG, ~/.kube/config). Default: its current one; within a
  /// pod its service account is used unless this is set.
  std::optional<std::string> kubernetes_context = {};
  /// A file in YAML or JSON with what each pod shall have besides. Default none.
  std::optional<std::string> kubernetes_pod_template = {};
  /// What a GPU is called in the cluster. Default nvidia.com/gpu.
  std::optional<std::string> gpu_key = {};
  /// Whether the members of a Ring may talk to each other unencrypted where that leaves
  /// the machine: see docs/ring.md. Default false.
  std::optional<bool> ring_plaintext = {};
  /// Settings of a backend that have no member here, by key, each as in .fiberconfig.
  std::map<std::string, std::string> more = {};
};

} // namespace fiber
