// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "backends/backend.hpp"
#include "backends/docker/engine.hpp"
#include "backends/docker/images.hpp"

namespace fiber::backends::docker {

// Labels of our containers.
inline constexpr auto session_label = "fiber.session"; ///< Random, one a backend.
inline constexpr auto job_label = "fiber.job";         ///< JobSpec::name
inline constexpr auto lease_label = "fiber.lease";     ///< Seconds.

/// Where this process runs and where its jobs shall: the same for each of them.
struct Placement {
  std::string session;
  std::chrono::seconds lease{60};
  std::string image;              ///< Unless a job asks for another.
  bool own_image = false;         ///< `image` is that of the container we are in.
  std::string network = "host";   ///< Name of a network, or "host".
  std::string address;            ///< Of this process, for who is in that network.
  std::string user;               ///< Empty: the image's.
  std::string directory;          ///< Where jobs start; empty: where the image says.
  std::vector<std::string> binds; ///< "SOURCE:TARGET[:ro]"
  std::map<std::string, std::string> environment;
  std::string executable;             ///< Path of the program.
  std::vector<std::string> arguments; ///< Without argv[0].
};

/// Where this process is: in a container of this engine or beside it. `network` empty:
/// the container's own, or the host's. Blocks. Throws EngineError: no such network, no
/// address on it.
Placement find_place(Engine& engine, const std::string& network);

/// What the engine is asked for.
nlohmann::json container_body(const JobSpec& spec, const Placement& place,
                              const Image& image);
/// Of a job's container; the same if asked again.
std::string container_name(const Placement& place, const JobSpec& spec);
/// Whether the engine's description of a container is of this very job.
bool is_ours(const nlohmann::json& described, const Placement& place,
             const JobSpec& spec);

} // namespace fiber::backends::docker
