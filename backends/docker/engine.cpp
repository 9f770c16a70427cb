// SPDX-License-Identifier: Apache-2.0
#include "backends/docker/engine.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>

#include <nlohmann/json.hpp>

#include "backends/backend.hpp"
#include "backends/http/curl.hpp"
#include "base/system_error_text.hpp"
#include "fiber/detail/classic_locale.hpp"

namespace fiber::backends::docker {

namespace {

constexpr auto oldest = "1.40"; // Docker 19.03.
constexpr std::string_view unix_scheme = "unix://";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string usual_host() {
  std::vector<std::string> sockets{"/var/run/docker.sock", "/run/podman/podman.sock"};
  if (auto folder = variable("XDG_RUNTIME_DIR"); !folder.empty())
    sockets.push_back(folder + "/podman/podman.sock");
  for (auto& path : sockets)
    if (::access(path.c_str(), F_OK) == 0)
      return "unix://" + path;
  return "unix://" + sockets.front();
}

[[noreturn]] void refuse(const std::string& where, const std::string& why,
                         int status = 0) {
  throw EngineError("reach the Docker engine at " + where, status, why);
}

/// Returns a file that must hold a certificate or a key.
std::string read_pem(const std::string& where, const std::string& path,
                     const std::string& what) {
  fiber::detail::Classic<std::ifstream> file(path);
  fiber::detail::Classic<std::stringstream> text;
  text << file.rdbuf();
  if (!file)
    refuse(where, path + " can't be read (DOCKER_CERT_PATH)", errno);
  if (text.str().find("-----BEGIN ") == std::string::npos)
    refuse(where, path + " holds no " + what + " in PEM (DOCKER_CERT_PATH)");
  return text.str();
}

void check_socket(const std::string& where, const std::string& path) {
  if (::access(path.c_str(), R_OK | W_OK) == 0)
    return;
  int error = errno;
  auto words = system_error_text(error);
  if (error == EACCES)
    refuse(where, words + "; be in the group that owns the socket (docker), or root",
           error);
  refuse(where,
         words + "; is the engine running? docker_host or DOCKER_HOST names another",
         error);
}

/// Splits a version number such as 1.41.
std::pair<int, int> parts(const std::string& version) {
  auto dot = version.find('.');
  return {std::atoi(version.c_str()),
          dot == version.npos ? 0 : std::atoi(version.c_str() + dot + 1)};
}

http::Endpoint endpoint_of(const std::string& where, bool plaintext) {
  http::Endpoint endpoint;
  auto after = [&](std::string_view scheme) { return where.substr(scheme.size()); };
  if (where.starts_with(unix_scheme)) {
    endpoint.url = "http://docker";
    endpoint.unix_socket = after(unix_scheme);
    check_socket(where, endpoint.unix_socket);
    return endpoint;
  }
  bool tls = where.starts_with("https://") ||
             (where.starts_with("tcp://") && !variable("DOCKER_TLS_VERIFY").empty());
  if (where.starts_with("tcp://"))
    endpoint.url = (tls ? "https://" : "http://") + after("tcp://");
  else if (where.starts_with("http://") || where.starts_with("https://"))
    endpoint.url = where;
  else
    refuse(where, "an engine's address is unix:///PATH or tcp://HOST:PORT");
  if (!tls && !plaintext)
    refuse(where, "without TLS the network could read the keys of the session and give "
                  "orders to the engine; set DOCKER_TLS_VERIFY and DOCKER_CERT_PATH, or "
                  "docker_allow=plaintext if nobody else is on that network");
  if (tls) {
    auto folder = variable("DOCKER_CERT_PATH");
    if (folder.empty())
      folder = variable("HOME") + "/.docker";
    endpoint.ca_pem = read_pem(where, folder + "/ca.pem", "certificate");
    endpoint.client_cert_pem = read_pem(where, folder + "/cert.pem", "certificate");
    endpoint.client_key_pem = read_pem(where, folder + "/key.pem", "key");
  }
  return endpoint;
}

std::string host_of(const std::string& given) {
  if (!given.empty())
    return given;
  auto from_environment = variable("DOCKER_HOST");
  return from_environment.empty() ? usual_host() : from_environment;
}

} // namespace

Engine::Engine(Loop& loop, const std::string& host, bool plaintext)
  : where_(host_of(host)), remote_(!where_.starts_with(unix_scheme)),
    client_(loop, endpoint_of(where_, plaintext)) {
  connect();
}

std::string Engine::socket() const {
  return remote_ ? "" : where_.substr(unix_scheme.size());
}

void Engine::connect() {
  auto reply = client_.call({.path = "/version", .limit = std::chrono::seconds(20)});
  if (!reply.ok())
    refuse(where_, problem(reply), reply.status);
  auto told = nlohmann::json::parse(reply.body, nullptr, false);
  auto version = text(told, {"ApiVersion"});
  if (version.empty())
    refuse(where_, "what answers there is no container engine");
  if (parts(version) < parts(oldest))
    refuse(where_, "it speaks version " + version + " of the Engine API; " + oldest +
                     " is needed (Docker 19.03)");
  version_ = std::min(parts(version), parts("1.43")) == parts(version) ? version : "1.43";
  for (auto& component : part(told, {"Components"}))
    podman_ = podman_ || text(component, {"Name"}).starts_with("Podman");
  local_address_ = reply.local_address;
  connected_at_ = time_of(reply);
  description_ =
    (podman_ ? "podman " : "docker ") + text(told, {"Version"}) + " at " + where_;
}

http::Request Engine::request(std::string method, const std::string& path) const {
  return {.method = std::move(method), .path = "/v" + version_ + path};
}

http::Request Engine::request(std::string method, const std::string& path,
                              const nlohmann::json& body) const {
  auto made = request(std::move(method), path);
  made.headers = {"Content-Type: application/json"};
  made.body = body.dump();
  return made;
}

const nlohmann::json& part(const nlohmann::json& told, Path path) {
  static const nlohmann::json nothing;
  auto* at = &told;
  for (auto* name : path) {
    auto found = at->is_object() ? at->find(name) : at->end();
    if (found == at->end())
      return nothing;
    at = &*found;
  }
  return *at;
}

std::string text(const nlohmann::json& told, Path path) {
  auto& found = part(told, path);
  return found.is_string() ? found.get<std::string>() : "";
}

std::int64_t number(const nlohmann::json& told, Path path, std::int64_t otherwise) {
  auto& found = part(told, path);
  return found.is_number() ? found.get<std::int64_t>() : otherwise;
}

std::string problem(const http::Reply& reply) {
  if (reply.status == 0)
    return reply.error;
  auto told = nlohmann::json::parse(reply.body, nullptr, false);
  if (told.is_object())
    for (auto* key : {"message", "cause"})
      if (auto words = told.find(key); words != told.end() && words->is_string())
        return *words;
  if (reply.body.empty())
    return "HTTP status " + std::to_string(reply.status);
  return reply.body.substr(0, 500);
}

bool is_transient(const http::Reply& reply) {
  return reply.status == 0 || reply.status == 429 || reply.status == 502 ||
         reply.status == 503 || reply.status == 504;
}

std::time_t time_of(const http::Reply& reply) {
  auto date = reply.headers.find("date");
  auto time = date == reply.headers.end()
                ? -1
                : http::curl().getdate(date->second.c_str(), nullptr);
  return time < 0 ? std::time(nullptr) : time;
}

void StreamDecoder::feed(std::string_view bytes,
                         const std::function<void(std::string_view)>& f) {
  constexpr std::size_t head_size = 8; // Stream, three zeros, length in network order.
  while (!bytes.empty()) {
    if (left_ > 0) {
      auto piece = bytes.substr(0, left_);
      bytes.remove_prefix(piece.size());
      left_ -= piece.size();
      f(piece);
      continue;
    }
    auto more = bytes.substr(0, head_size - head_.size());
    head_ += more;
    bytes.remove_prefix(more.size());
    if (head_.size() < head_size)
      return;
    for (std::size_t i = 4; i < head_size; ++i)
      left_ = left_ << 8 | static_cast<unsigned char>(head_[i]);
    head_.clear();
  }
}

} // namespace fiber::backends::docker
