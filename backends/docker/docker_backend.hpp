// SPDX-License-Identifier: Apache-2.0
// docker/ runs jobs as containers of a Docker or Podman engine, over its HTTP API. It may
// include backends/, container/, engine/, http/, output/ and base/.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "backends/docker/allowed.hpp"
#include "backends/output/status_lines.hpp"

namespace fiber::backends {

namespace docker {

/// Descriptors of the driver that a job takes: link, output and the wait for its end.
inline constexpr std::size_t descriptors_per_job = 3;

} // namespace docker

/// Options of the docker backend.
struct DockerOptions {
  std::string host;    ///< "unix:///path", "tcp://host:port"; empty: as docker(1).
  std::string image;   ///< Empty: the image of this process's container.
  std::string network; ///< Empty: this process's container's, or the engine's bridge.
  std::string user;    ///< Empty: the image's unless that is root, else 65532.
  std::vector<std::string> volumes; ///< "SOURCE:TARGET[:ro]"
  docker::Allowed allowed;          ///< What jobs may have beyond the defaults.
  std::map<std::string, std::string> environment;
  bool hide_gpus = true;      ///< A job that asks for no GPU sees none.
  bool forward_output = true; ///< Copy jobs' output to our stderr, with names.
  std::shared_ptr<StatusLines> terminal = {}; ///< Destination; null: a new one.
  std::chrono::milliseconds lease{60000};
  std::string session = {}; ///< Marks what it makes; empty: a random one.
};

/// Makes a backend whose jobs are containers of a Docker or Podman engine. They run this
/// program: at the same path if their image is that of this process's container,
/// otherwise as the image's entrypoint. A job is not root and has no capabilities, a
/// read-only root file system with a /tmp, a limit on processes, and the engine's bridge
/// as network, unless `options` say otherwise.
///
/// Blocks until the engine has answered, and removes containers that dead drivers have
/// left behind. Throws EngineError: no engine, no permission, no image named, no such
/// network, a volume that would give jobs the engine's socket.
std::unique_ptr<Backend> make_docker(const DockerOptions& options);

} // namespace fiber::backends
