// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

namespace fiber {

/// The settings of a session. Each is taken from the first place that has it: this
/// struct; the environment, as FIBER_ and the key in capitals; the section [default] of
/// .fiberconfig in the working directory; its default. docs/reference/configuration.md
/// lists the valid values.
struct Config {
  /// Where jobs run: "auto", "local", "inline", "docker", "kubernetes" or "slurm". Auto
  /// means kubernetes in a pod that has a service account, slurm in an allocation of
  /// Slurm, else local. Default: auto.
  std::optional<std::string> backend = {};
  /// How many jobs may be starting at once. Default: 64.
  std::optional<std::size_t> workers_start_window = {};
  /// A worker that has been silent for this long is replaced. Default: 10 s.
  std::optional<std::chrono::milliseconds> heartbeat_timeout = {};
  /// A job that has heard nothing from the driver for this long ends itself. At least
  /// twice heartbeat_timeout. Default: 60 s.
  std::optional<std::chrono::milliseconds> lease = {};
  /// A job that is not ready after this long has failed to start. Time in which the
  /// engine has no room for the job does not count. Default: 60 s.
  std::optional<std::chrono::milliseconds> start_deadline = {};
  /// How long a job may wait for room, for its turn and for its image. Default: none, a
  /// job waits as long as it must.
  std::optional<std::chrono::milliseconds> queue_deadline = {};
  /// How jobs talk to the driver: "auto" (a socket pair for local jobs) or "tls".
  /// Default: auto.
  std::optional<std::string> link = {};
  /// Whether what jobs print is forwarded to the driver's stderr, each line with the name
  /// of its job. Default: true.
  std::optional<bool> forward_output = {};
  /// "trace", "debug", "info", "warn", "error" or "off". Default: warn.
  std::optional<std::string> log_level = {};
  /// Whether local workers are forked by a zygote ("auto") or each is started as a new
  /// program ("never"): see docs/backends/local.md. Default: auto.
  std::optional<std::string> zygote = {};
  /// "kill=P,stall=P,seed=N": faults on demand, to see that the program survives them.
  /// When a task of a pool or a member of a ring starts, its job is killed, or stopped
  /// for half to one and a half heartbeat_timeouts, with these probabilities. Spares the
  /// last run that a task is allowed, and the inline backend. Default: none.
  std::optional<std::string> chaos = {};
  /// The file for a trace of every task, worker and retry: see
  /// docs/how-to/look-inside-a-program.md. Default: none.
  std::optional<std::string> trace = {};
  /// "HOST:PORT" at which Prometheus reads the metrics of the driver's pools. Default:
  /// none.
  std::optional<std::string> metrics = {};
  /// The name of the session for the command `fiber`: letters, digits, '.', '_' and '-',
  /// at most 40. Default: the program's name, '-' and its pid.
  std::optional<std::string> name = {};
  /// Whether the command `fiber` can look at the session: see docs/reference/cli.md.
  /// Default: true.
  std::optional<bool> observe = {};
  /// "HOST:PORT" at which the driver serves its live page; port 0 is any free one. An
  /// address that other machines can reach needs dashboard_token, dashboard_certificate
  /// and dashboard_key: see docs/reference/dashboard.md. Default: none.
  std::optional<std::string> dashboard = {};
  /// The secret that opens the page: 16 to 200 letters, digits, '-', '_', '.' and '~'.
  /// "none": all may look who can connect. Default: a random one, which the driver logs.
  std::optional<std::string> dashboard_token = {};
  /// The files, in PEM, of the certificate chain and of the private key with which the
  /// page is served by TLS. Default: none, and no TLS.
  std::optional<std::string> dashboard_certificate = {};
  std::optional<std::string> dashboard_key = {};
  /// The file to which the page is written, every few seconds and at the end, with what
  /// it shows: see docs/reference/dashboard.md. Default: none.
  std::optional<std::string> report = {};
  /// "HOST" or "HOST:PORT" by which jobs reach the driver. Default: what the backend
  /// finds.
  std::optional<std::string> advertise_address = {};
  /// The image that jobs run in. Default: that of the driver's own container.
  std::optional<std::string> image = {};
  /// "NAME=VALUE", or "NAME" for the driver's value, separated by commas: variables for
  /// jobs in containers. Default: none.
  std::optional<std::string> environment = {};
  /// Whether jobs that ask for no GPU see none. Default: true.
  std::optional<bool> hide_gpus = {};
  /// The container engine, "unix:///PATH" or "tcp://HOST:PORT". Default: $DOCKER_HOST,
  /// else the usual sockets of Docker and Podman.
  std::optional<std::string> docker_host = {};
  /// The network of the containers, "host" or the name of one. Default: that of the
  /// driver's own container unless that is host, else the engine's bridge.
  std::optional<std::string> docker_network = {};
  /// The user of the containers: a name of the image, "UID" or "UID:GID"; "root".
  /// Default: the image's user, or 65532:65532 if that is root.
  std::optional<std::string> docker_user = {};
  /// What containers may have beyond the defaults, separated by commas: "writable_root",
  /// "capabilities", "new_privileges", "processes", "driver_volumes", "plaintext": see
  /// docs/backends/docker.md. Default: none.
  std::optional<std::string> docker_allow = {};
  /// Volumes of the containers, "SOURCE:TARGET" or "SOURCE:TARGET:ro", separated by
  /// commas. Default: none.
  std::optional<std::string> docker_volumes = {};
  /// The namespace of the pods. Default: that of the driver's pod, else that of the
  /// context.
  std::optional<std::string> kubernetes_namespace = {};
  /// The context in the kubeconfig ($KUBECONFIG, ~/.kube/config). Default: the current
  /// one; within a pod, the pod's service account instead of a context.
  std::optional<std::string> kubernetes_context = {};
  /// "restricted": pods have the security context that Pod Security's level of that name
  /// admits; "none": only that of the driver's own pod and of the template. Default:
  /// restricted.
  std::optional<std::string> kubernetes_security = {};
  /// A file in YAML or JSON with what each pod has besides. Default: none.
  std::optional<std::string> kubernetes_pod_template = {};
  /// The name of a GPU as a resource of the cluster. Default: nvidia.com/gpu.
  std::optional<std::string> gpu_key = {};
  /// Whether the members of a Ring may talk to each other unencrypted where that leaves
  /// the machine: see docs/reference/ring.md. Default: false.
  std::optional<bool> ring_plaintext = {};
  /// Settings of a backend that have no member here, by key, each as in .fiberconfig.
  std::map<std::string, std::string> more = {};
};

} // namespace fiber
