// SPDX-License-Identifier: Apache-2.0
#include "cli/docker/images.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <future>
#include <iterator>
#include <sstream>
#include <utility>

#include <openssl/evp.h>

#include "backends/docker/images.hpp"
#include "cli/engines/output_of.hpp"
#include "fiber/detail/classic_locale.hpp"
#include "fiber/error.hpp"

namespace fiber::cli::docker {
namespace {

using backends::docker::part;
using backends::docker::text;
using nlohmann::json;

json described(Client& client, const std::string& name) {
  auto reply = client.ask("GET", "/images/" + backends::http::escape(name) + "/json");
  return reply.ok() ? json::parse(reply.body, nullptr, false) : json();
}

/// Pulls and returns the problem, or nothing.
std::string pull(Client& client, const std::string& name) {
  backends::docker::Images images(client.engine());
  std::promise<std::string> problem;
  client.loop().post([&] {
    images.ensure(
      name,
      [&](const backends::docker::Image& image) { problem.set_value(image.problem); },
      [](const std::string&) {}); // The log has the news.
  });
  return problem.get_future().get();
}

/// Encodes for a header: with - and _ instead of + and /.
std::string base64_of(const std::string& bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  auto size = ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                reinterpret_cast<const unsigned char*>(bytes.data()),
                                static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  std::ranges::replace(out, '+', '-');
  std::ranges::replace(out, '/', '_');
  return out;
}

/// Returns nothing if the text is no base64.
std::string plain(const std::string& text) {
  std::string out(3 * (text.size() / 4 + 1), '\0');
  auto size = ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                reinterpret_cast<const unsigned char*>(text.data()),
                                static_cast<int>(text.size()));
  out.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  while (!out.empty() && out.back() == '\0') // What padding decodes to.
    out.pop_back();
  return out;
}

std::string registry_of(const std::string& name) {
  auto slash = name.find('/');
  auto first = name.substr(0, slash);
  bool host = slash != name.npos &&
              (first.find_first_of(".:") != first.npos || first == "localhost");
  return host ? first : "https://index.docker.io/v1/";
}

/// Asks a credential helper of Docker's, "docker-credential-NAME".
json from_helper(const std::string& helper, const std::string& registry) {
  auto told = json::parse(output_of({"docker-credential-" + helper, "get"}, registry),
                          nullptr, false);
  return {{"username", text(told, {"Username"})},
          {"password", text(told, {"Secret"})},
          {"serveraddress", registry}};
}

/// Returns what `docker login` has kept for a registry; {} if nothing.
json credentials(const std::string& registry) {
  const char* folder = std::getenv("DOCKER_CONFIG");
  const char* home = std::getenv("HOME");
  auto path = folder != nullptr ? std::string(folder)
                                : std::string(home == nullptr ? "" : home) + "/.docker";
  fiber::detail::Classic<std::ifstream> file(path + "/config.json");
  auto config =
    json::parse(std::string(std::istreambuf_iterator<char>(file), {}), nullptr, false);
  auto helper = text(config, {"credHelpers", registry.c_str()});
  if (helper.empty())
    helper = text(config, {"credsStore"});
  if (!helper.empty())
    return from_helper(helper, registry);
  auto pair = plain(text(config, {"auths", registry.c_str(), "auth"}));
  auto colon = pair.find(':');
  if (colon == pair.npos)
    return json::object();
  return {{"username", pair.substr(0, colon)},
          {"password", pair.substr(colon + 1)},
          {"serveraddress", registry}};
}

} // namespace

ImageNews find_image(Client& client, const std::string& name) {
  auto told = described(client, name);
  if (told.is_null()) {
    if (auto problem = pull(client, name); !problem.empty())
      return {.there = false, .problem = problem, .entrypoint = {}};
    told = described(client, name);
  }
  ImageNews news{.there = true, .problem = {}, .entrypoint = {}};
  for (auto& word : part(told, {"Config", "Entrypoint"}))
    news.entrypoint.push_back(text(word, {}));
  return news;
}

void load_image(Client& client, const std::string& name, std::string archive) {
  auto reply =
    client.send("POST", "/images/load?quiet=1", "application/x-tar", std::move(archive));
  if (!reply.ok() || described(client, name).is_null())
    throw Error("the engine refused image " + name + ": " +
                backends::docker::problem(reply));
}

void remove_image(Client& client, const std::string& name) {
  client.ask("DELETE", "/images/" + backends::http::escape(name));
}

void push_image(Client& client, const std::string& name) {
  auto colon = name.rfind(':');
  auto tagged = colon != name.npos && name.find('/', colon) == name.npos;
  auto repository = tagged ? name.substr(0, colon) : name;
  auto tag = tagged ? name.substr(colon + 1) : "latest";
  auto request =
    client.engine().request("POST", "/images/" + backends::http::escape(repository) +
                                      "/push?tag=" + backends::http::escape(tag));
  auto auth = credentials(registry_of(name)).dump();
  request.headers.push_back("X-Registry-Auth: " + base64_of(auth));
  request.limit = std::chrono::minutes(30);
  auto reply = client.engine().client().call(std::move(request));
  if (!reply.ok())
    throw Error("push " + name + ": " + backends::docker::problem(reply));
  fiber::detail::Classic<std::istringstream> lines(
    reply.body); // The engine replies 200 first, and then says how it went.
  for (std::string line; std::getline(lines, line);)
    if (auto problem = text(json::parse(line, nullptr, false), {"error"});
        !problem.empty())
      throw Error("push " + name + ": " + problem +
                  "; docker login keeps the credentials for a registry");
}

} // namespace fiber::cli::docker
