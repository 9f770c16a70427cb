// SPDX-License-Identifier: Apache-2.0
// docker/ starts drivers as containers of Docker or Podman, checks the engine and copies
// to volumes.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "backends/docker/engine.hpp"
#include "backends/engine/loop.hpp"

namespace fiber::cli::docker {

/// A connection to the engine that the settings name.
class Client {
public:
  /// Throws backends::EngineError: no engine, no permission.
  explicit Client(const std::string& host);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Asks and waits. Returns the reply whatever its status.
  backends::http::Reply ask(const std::string& method, const std::string& path);
  backends::http::Reply ask(const std::string& method, const std::string& path,
                            const nlohmann::json& body);
  /// The same with a body that is no JSON.
  backends::http::Reply send(const std::string& method, const std::string& path,
                             const std::string& type, std::string body);
  /// Asks, and hands the body of a reply of 2xx to `take`, on another thread, until that
  /// returns false.
  backends::http::Reply receive(const std::string& path,
                                const std::function<bool(std::string_view)>& take);
  /// Returns the JSON of a reply of 2xx. Throws Error that says what was being done.
  static nlohmann::json json_of(const backends::http::Reply& reply,
                                const std::string& what);

  backends::docker::Engine& engine() { return engine_; }
  backends::Loop& loop() { return loop_; }

private:
  backends::Loop loop_;
  backends::docker::Engine engine_;
};

/// Returns a container's id as docker(1) shows it.
std::string short_id(const std::string& id);

/// Returns the setting docker_host.
std::string configured_host();

/// A container that is removed at the end, whatever happens.
class OwnedContainer {
public:
  /// Creates it; `name` may be empty. Throws Error.
  OwnedContainer(Client& client, const nlohmann::json& body, const std::string& name);
  ~OwnedContainer();
  OwnedContainer(const OwnedContainer&) = delete;
  OwnedContainer& operator=(const OwnedContainer&) = delete;
  const std::string& id() const { return id_; }
  /// Leaves it to others.
  void release() { id_.clear(); }

private:
  Client& client_;
  std::string id_;
};

} // namespace fiber::cli::docker
