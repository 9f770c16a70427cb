// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "backends/output/status_lines.hpp"

namespace fiber::backends {

/// How containers are made.
struct DockerOptions {
  std::string host; ///< "unix:///path", "tcp://host:port"; empty: as Docker's own client.
  std::string image;   ///< Empty: that of the container this process is in.
  std::string network; ///< Empty: that of this process's container, else the host's.
  std::vector<std::string> volumes; ///< "SOURCE:TARGET[:ro]"
  std::map<std::string, std::string> environment;
  bool forward_output = true; ///< Show what jobs write on our stderr, with their names.
  std::shared_ptr<StatusLines> terminal = {}; ///< Where to; null: one of its own.
  std::chrono::milliseconds lease{60000};
};

/// Jobs are containers of a Docker or Podman engine. They run this program: at the same
/// path if they are made from the image of this process's own container, else as the
/// image's entrypoint says.
///
/// Blocks until the engine has answered, and removes what dead drivers have left created
/// and never started. Throws EngineError: no engine, no permission, no image named, no
/// such network.
std::unique_ptr<Backend> make_docker(const DockerOptions& options);

} // namespace fiber::backends
