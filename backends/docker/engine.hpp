// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "backends/http/client.hpp"

namespace fiber::backends::docker {

/// A client of Docker's Engine API, or of Podman's version of it.
///
/// Thread safety: as http::Client.
class Engine {
public:
  using Done = http::Client::Done;

  /// `host` is "unix:///path" or "tcp://host:port"; it defaults to $DOCKER_HOST, then to
  /// the usual sockets. $DOCKER_TLS_VERIFY and $DOCKER_CERT_PATH have the same meaning as
  /// for docker(1). Blocks until the engine has reported its version. Throws EngineError:
  /// no engine, no permission, too old, or TCP without TLS unless `plaintext` allows it.
  Engine(Loop& loop, const std::string& host, bool plaintext = false);

  /// "docker 20.10.24 at unix:///var/run/docker.sock"
  const std::string& description() const { return description_; }
  bool is_podman() const { return podman_; }
  /// Returns when the engine reported its version, by its own clock.
  std::time_t connected_at() const { return connected_at_; }
  /// Returns the path of the engine's socket; empty if it is reached by TCP.
  std::string socket() const;
  /// Returns whether the engine is reached by TCP, so probably on another machine.
  bool is_remote() const { return remote_; }
  /// Returns our address in the connection to a remote engine.
  const std::string& local_address() const { return local_address_; }

  /// Make requests; `path` has no "/vN" prefix.
  http::Request request(std::string method, const std::string& path) const;
  http::Request request(std::string method, const std::string& path,
                        const nlohmann::json& body) const;
  http::Client& client() { return client_; }

private:
  void connect();

  std::string where_, description_, version_, local_address_;
  bool podman_ = false, remote_ = false;
  std::time_t connected_at_ = 0;
  http::Client client_;
};

/// Returns the engine's error message, or why there was no reply.
std::string problem(const http::Reply& reply);
/// Returns whether to retry: there was no reply, or the engine was overloaded or
/// starting.
bool is_transient(const http::Reply& reply);
/// Returns the reply's date, by the engine's clock, as are all dates from the engine.
std::time_t time_of(const http::Reply& reply);

// Access to a member of the engine's JSON by the path of its names. These never throw.
using Path = std::initializer_list<const char*>;
/// Returns null if the member is missing.
const nlohmann::json& part(const nlohmann::json& told, Path path);
/// Returns an empty string if the member is missing or not a string.
std::string text(const nlohmann::json& told, Path path);
std::int64_t number(const nlohmann::json& told, Path path, std::int64_t otherwise = 0);

/// Decodes the output of a container without a terminal: frames with a stream number.
class StreamDecoder {
public:
  /// Calls `f` for each piece of stdout or stderr in `bytes`.
  void feed(std::string_view bytes, const std::function<void(std::string_view)>& f);

private:
  std::string head_;
  std::size_t left_ = 0;
};

} // namespace fiber::backends::docker
