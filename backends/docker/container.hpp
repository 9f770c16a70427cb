// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "backends/backend.hpp"
#include "backends/docker/allowed.hpp"
#include "backends/docker/engine.hpp"
#include "backends/docker/images.hpp"
#include "backends/resource_variables.hpp"

namespace fiber::backends {
struct DockerOptions;
}

namespace fiber::backends::docker {

// Labels of our containers.
inline constexpr auto session_label = "fiber.session"; ///< Random, one per backend.
inline constexpr auto job_label = "fiber.job";         ///< JobSpec::name
inline constexpr auto image_label = "fiber.image";     ///< As the driver named it.
inline constexpr auto lease_label = "fiber.lease";     ///< Seconds.

/// Where this process runs, and how its jobs' containers are made.
struct Placement {
  std::string session;
  std::chrono::seconds lease{60};
  std::string image;              ///< Default image of jobs.
  bool own_image = false;         ///< `image` is this process's own.
  std::string network;            ///< Name of a network, or "host".
  std::string address;            ///< Of this process in that network.
  bool address_later = false;     ///< It is there while a container runs.
  std::string user;               ///< Empty: see user_of().
  Allowed allowed;                ///< What containers have beyond the defaults.
  std::string directory;          ///< Working directory; empty: the image's.
  std::vector<std::string> binds; ///< "SOURCE:TARGET[:ro]"
  std::map<std::string, std::string> environment;
  ResourceVariables resource_variables{true};
  std::string executable;             ///< Path of the program.
  std::vector<std::string> arguments; ///< Without argv[0].
  /// The engine keeps what containers print in JSON files, which have no limit of their
  /// own. Other ways of logging are the site's choice.
  bool logs_to_files = false;
};

/// Determines whether this process runs in a container of this engine, and the placement
/// of its jobs. The network defaults to the container's own, or the engine's bridge. Of a
/// container's own volumes jobs have none unless `options` allow it. Blocks. Throws
/// EngineError if the network is unknown, if this process has no address in it, or if a
/// volume leads to the engine's socket.
Placement find_place(Engine& engine, const DockerOptions& options);

/// Returns the user of a job: the placement's, else the image's unless that is root, else
/// 65532, which owns nothing.
std::string user_of(const Placement& place, const Image& image);

/// Returns the body of the request to create a container.
nlohmann::json container_body(const JobSpec& spec, const Placement& place,
                              const Image& image);
/// Returns the name of a job's container, the same each time.
std::string container_name(const Placement& place, const JobSpec& spec);
/// Returns whether the engine's description of a container is of this job.
bool is_ours(const nlohmann::json& described, const Placement& place,
             const JobSpec& spec);

} // namespace fiber::backends::docker
