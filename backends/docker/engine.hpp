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

/// The Engine API of Docker, or Podman's copy of it.
///
/// Thread safety: as http::Client.
class Engine {
public:
  using Done = http::Client::Done;

  /// `host`: "unix:///path", "tcp://host:port"; empty: $DOCKER_HOST, else the usual
  /// sockets. $DOCKER_TLS_VERIFY and $DOCKER_CERT_PATH count as for Docker's own client.
  /// Blocks until the engine has told its version. Throws EngineError: no engine there,
  /// no permission, too old.
  Engine(Loop& loop, const std::string& host);

  /// "docker 20.10.24 at unix:///var/run/docker.sock"
  const std::string& description() const { return description_; }
  bool is_podman() const { return podman_; }
  /// When it told its version, by its own clock.
  std::time_t connected_at() const { return connected_at_; }
  /// Reached by TCP: most likely on another machine.
  bool is_remote() const { return remote_; }
  /// Our end of the connection to a remote engine.
  const std::string& local_address() const { return local_address_; }

  /// Without "/vN" in front.
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

/// What the engine says in a reply that is no success, or why there was none.
std::string problem(const http::Reply& reply);
/// Worth another try: there was no reply, or the engine itself was in trouble.
bool is_transient(const http::Reply& reply);
/// When it was written, by the engine's clock, which made all dates it tells.
std::time_t time_of(const http::Reply& reply);

// What an engine has told, by the names on the way to it. These never throw, whatever it
// has told.
using Path = std::initializer_list<const char*>;
/// Null if it is not there.
const nlohmann::json& part(const nlohmann::json& told, Path path);
/// Empty if it is not there or no text.
std::string text(const nlohmann::json& told, Path path);
std::int64_t number(const nlohmann::json& told, Path path, std::int64_t otherwise = 0);

/// Takes apart what a container without a terminal writes: frames with a stream number.
class StreamDecoder {
public:
  /// Calls `f` for each piece of stdout or stderr in `bytes`.
  void feed(std::string_view bytes, const std::function<void(std::string_view)>& f);

private:
  std::string head_;
  std::size_t left_ = 0;
};

} // namespace fiber::backends::docker
