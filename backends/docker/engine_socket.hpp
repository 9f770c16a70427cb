// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace fiber::backends::docker {

/// Tells which binds would show the engine's socket to a job. Whoever has that socket has
/// the engine's machine.
///
/// Compares what paths lead to, not what they are called: the socket may be seen under
/// any name, and through any folder above it.
class EngineSocket {
public:
  /// `path` is the socket as this process sees it; empty if the engine is reached by TCP.
  /// `own` is the engine's description of this process's container, or null on the
  /// engine's machine.
  EngineSocket(const std::string& path, const nlohmann::json& own);

  /// Returns whether the volume "SOURCE:TARGET[:ro]", whose source is a path of the
  /// engine's machine, leads to the socket.
  bool is_in_volume(const std::string& bind) const;
  /// The same for a bind of this process's own container, which sees it at its target.
  bool is_in_own_bind(const std::string& bind) const;

private:
  /// A place in a file system, which is the same whatever mounts lead to it.
  struct Place {
    std::string device; ///< "MAJOR:MINOR"
    std::string path;   ///< From the file system's own root.
  };
  struct Mount {
    Place place;
    std::string point; ///< Where this process sees it.
  };

  static std::vector<Mount> read_mounts();
  Place place_of(const std::string& path) const;
  bool is_seen_under(const std::string& path) const;

  std::vector<Mount> mounts_;           ///< Of this process.
  std::vector<std::string> host_paths_; ///< Sockets of engines on the engine's machine.
  bool on_host_;                        ///< Paths here are those of that machine.
  Place place_;                         ///< The socket; no device: unknown.
};

/// Splits "SOURCE:TARGET[:ro]" into source and target.
std::pair<std::string, std::string> ends_of(const std::string& bind);

} // namespace fiber::backends::docker
