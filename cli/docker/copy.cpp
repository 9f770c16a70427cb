// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "cli/docker/client.hpp"
#include "cli/docker/docker.hpp"
#include "cli/engines/archive.hpp"
#include "cli/engines/unpacking.hpp"
#include "fiber/error.hpp"

namespace fiber::cli::docker {
namespace {

using backends::http::escape;

constexpr auto empty_image = "localhost/fiber-empty";
constexpr auto mount = "/volume";
constexpr std::size_t empty_archive = 1024; // Zeros: the end of a tar archive.

void check_volume(Client& client, const std::string& volume) {
  auto reply = client.ask("GET", "/volumes/" + escape(volume));
  if (reply.status == 404)
    throw Error("there is no volume " + volume + " on " + client.engine().description() +
                "; docker volume ls names those that there are");
  Client::json_of(reply, "look up volume " + volume);
}

/// Makes sure that the engine has an image without files, for a container that is never
/// started.
void need_empty_image(Client& client) {
  auto name = std::string(empty_image) + ":latest";
  if (client.ask("GET", "/images/" + escape(name) + "/json").ok())
    return;
  auto reply = client.send(
    "POST", "/images/create?fromSrc=-&repo=" + escape(empty_image) + "&tag=latest",
    "application/x-tar", std::string(empty_archive, '\0'));
  if (!reply.ok())
    throw Error("make an empty image: " + backends::docker::problem(reply));
}

std::string archive_path(const OwnedContainer& helper, const std::string& path) {
  return "/containers/" + helper.id() +
         "/archive?path=" + escape(mount + (path == "/" ? "" : path));
}

bool is_folder(Client& client, const OwnedContainer& helper, const std::string& path) {
  return client
    .send("PUT", archive_path(helper, path), "application/x-tar",
          std::string(empty_archive, '\0'))
    .ok();
}

std::size_t upload(Client& client, const OwnedContainer& helper,
                   const CopyRequest& request) {
  auto name = std::filesystem::path(request.path.substr(1));
  auto file = std::filesystem::absolute(request.local).lexically_normal();
  if (request.into_folder || request.path == "/" ||
      is_folder(client, helper, request.path))
    name /= file.has_filename() ? file.filename() : file.parent_path().filename();
  auto reply = client.send("PUT", archive_path(helper, "/") + "&noOverwriteDirNonDir=1",
                           "application/x-tar", pack_files(request.local, name.string()));
  if (!reply.ok())
    throw Error("write " + request.path + " in volume " + request.volume + ": " +
                backends::docker::problem(reply));
  return bytes_in(request.local);
}

std::size_t download(Client& client, const OwnedContainer& helper,
                     const CopyRequest& request) {
  auto name = request.path == "/"
                ? request.volume
                : std::filesystem::path(request.path).filename().string();
  Unpacking copy(request.local, name, request.limit);
  auto reply = client.receive(archive_path(helper, request.path),
                              [&](std::string_view piece) { return copy.take(piece); });
  if (reply.status == 404)
    throw Error("volume " + request.volume + " has no " + request.path);
  if (!reply.ok())
    throw Error("read " + request.path + " in volume " + request.volume + ": " +
                backends::docker::problem(reply));
  return copy.finish();
}

} // namespace

std::size_t copy(const CopyRequest& request) {
  Client client(configured_host());
  check_volume(client, request.volume);
  need_empty_image(client);
  OwnedContainer helper(client,
                        {{"Image", std::string(empty_image) + ":latest"},
                         {"Cmd", {"/none"}},
                         {"HostConfig", {{"Binds", {request.volume + ":" + mount}}}}},
                        "");
  return request.to_volume ? upload(client, helper, request)
                           : download(client, helper, request);
}

} // namespace fiber::cli::docker
