// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "backends/docker/engine.hpp"
#include "backends/engine/loop.hpp"

namespace fiber::clusters {

/// The engine as anybody else sees it: what a test looks at, and what it does to
/// containers behind Fiber's back. Calls block.
class DockerView {
public:
  explicit DockerView(const std::string& host) : engine_(loop_, host) {}

  /// Ids of the containers that sessions have made, whatever their state; of one session
  /// only, if it is named.
  std::vector<std::string> containers(const std::string& session = "");
  std::vector<std::string> running();
  /// Null if there is no such container.
  nlohmann::json inspect(const std::string& id);
  /// "created", "running", "paused", "exited"; empty if it is gone.
  std::string state(const std::string& id);
  /// What the engine replies, whatever it is.
  backends::http::Reply ask(const std::string& method, const std::string& path,
                            const nlohmann::json& body = nullptr);
  /// Of POST /containers/ID/WHAT.
  int order(const std::string& id, const std::string& what);
  void remove(const std::string& id) { ask("DELETE", "/containers/" + id + "?force=1"); }

private:
  std::vector<std::string> list(const nlohmann::json& filters);

  backends::Loop loop_;
  backends::docker::Engine engine_;
};

} // namespace fiber::clusters
