// SPDX-License-Identifier: Apache-2.0
#include "cli/docker/client.hpp"

#include <future>
#include <memory>
#include <sstream>
#include <utility>

#include "backends/docker/allowed.hpp"
#include "fiber/detail/classic_locale.hpp"
#include "fiber/error.hpp"
#include "libfiber/session/settings.hpp"

namespace fiber::cli::docker {

using backends::http::Reply;
using nlohmann::json;

namespace {

constexpr std::chrono::minutes patience{10}; // Archives may be large.

/// Whether the setting docker_allow names plaintext.
bool is_plaintext_allowed() {
  fiber::detail::Classic<std::istringstream> words(
    resolve({}).backend_values["docker_allow"]);
  for (std::string word; std::getline(words, word, ',');)
    if (word == backends::docker::plaintext)
      return true;
  return false;
}

} // namespace

Client::Client(const std::string& host) : engine_(loop_, host, is_plaintext_allowed()) {}

Client::~Client() {
  engine_.client().close();
  loop_.stop();
}

Reply Client::ask(const std::string& method, const std::string& path) {
  auto request = engine_.request(method, path);
  request.limit = patience;
  return engine_.client().call(std::move(request));
}

Reply Client::ask(const std::string& method, const std::string& path, const json& body) {
  return engine_.client().call(engine_.request(method, path, body));
}

Reply Client::send(const std::string& method, const std::string& path,
                   const std::string& type, std::string body) {
  auto request = engine_.request(method, path);
  request.headers.push_back("Content-Type: " + type);
  request.body = std::move(body);
  request.limit = patience;
  return engine_.client().call(std::move(request));
}

Reply Client::receive(const std::string& path,
                      const std::function<bool(std::string_view)>& take) {
  auto request = engine_.request("GET", path);
  request.limit = {};
  request.silence_limit = patience;
  std::promise<Reply> promise;
  auto reply = promise.get_future();
  bool enough = false;
  loop_.post([&] {
    auto id = std::make_shared<backends::http::Client::Id>();
    auto data = [&, id](std::string_view piece) {
      if (!enough && !take(piece)) {
        enough = true;
        loop_.post([&, id] {
          engine_.client().cancel(*id);
          promise.set_value({.status = 200});
        });
      }
      return !enough; // Then nothing more is read.
    };
    auto done = [&](Reply got) {
      if (!enough) // Else it is too late for cancel().
        promise.set_value(std::move(got));
    };
    *id = engine_.client().stream(std::move(request), {.data = data}, done);
  });
  return reply.get();
}

json Client::json_of(const Reply& reply, const std::string& what) {
  if (!reply.ok())
    throw Error(what + ": " + backends::docker::problem(reply));
  return json::parse(reply.body, nullptr, false);
}

std::string short_id(const std::string& id) {
  constexpr std::size_t shown_letters = 12;
  return id.substr(0, shown_letters);
}

std::string configured_host() {
  auto values = resolve({}).backend_values;
  return values["docker_host"];
}

OwnedContainer::OwnedContainer(Client& client, const json& body, const std::string& name)
  : client_(client) {
  auto path =
    "/containers/create" + (name.empty() ? "" : "?name=" + backends::http::escape(name));
  auto told = Client::json_of(client.ask("POST", path, body), "create a container");
  id_ = backends::docker::text(told, {"Id"});
}

OwnedContainer::~OwnedContainer() {
  if (!id_.empty())
    client_.ask("DELETE", "/containers/" + id_ + "?force=1&v=1");
}

} // namespace fiber::cli::docker
