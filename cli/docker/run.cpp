// SPDX-License-Identifier: Apache-2.0
#include <sys/epoll.h>
#include <sys/stat.h>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <functional>
#include <future>

#include "cli/docker/client.hpp"
#include "cli/docker/docker.hpp"
#include "cli/docker/images.hpp"
#include "cli/docker/output.hpp"
#include "cli/engines/image.hpp"
#include "cli/engines/interrupts.hpp"
#include "cli/engines/output_of.hpp"
#include "fiber/error.hpp"
#include "libfiber/session/settings.hpp"

namespace fiber::cli::docker {
namespace {

using backends::docker::number;
using backends::docker::part;
using backends::docker::text;
using nlohmann::json;

constexpr auto socket_in_container = "/var/run/docker.sock";

/// Returns the path of the engine's socket on its machine. A remote engine has the usual
/// one.
std::string socket_of(Client& client) {
  constexpr std::string_view scheme = "unix://";
  auto& description =
    client.engine().description(); // "docker 20.10.24 at unix:///var/run/docker.sock"
  auto at = description.find(scheme);
  return at == description.npos ? socket_in_container
                                : description.substr(at + scheme.size());
}

/// Makes the image if that is asked for, and returns its name.
std::string prepare_image(Client& client, const RunRequest& request) {
  auto name = request.image.empty() ? resolve({}).image : request.image;
  if (!request.build) {
    if (name.empty())
      throw Error("run on docker: which image? Give --image, or --build to make one of "
                  "the program");
    auto image = find_image(client, name);
    if (!image.there)
      throw Error(image.problem + "; --build makes an image of the program");
    return name;
  }
  auto program = find_program(request.command.front());
  if (request.image.empty())
    name = image_name_for(program);
  auto archive = make_image(name, program);
  for (auto& command : request.imports)
    output_of({"/bin/sh", "-c", command}, archive);
  load_image(client, name, std::move(archive));
  if (request.push)
    push_image(client, name);
  return name;
}

/// Returns whether the image's entrypoint is the program.
bool is_entrypoint(const ImageNews& image, const std::string& program) {
  auto file = [](const std::string& path) {
    return std::filesystem::path(path).filename();
  };
  return !image.entrypoint.empty() && file(image.entrypoint.front()) == file(program);
}

json host_config(Client& client, const RunRequest& request) {
  auto socket = socket_of(client);
  auto binds = request.volumes;
  binds.push_back(socket + ":" + socket_in_container);
  json host{{"Binds", binds}};
  struct stat status {};
  if (!client.engine().is_remote() && ::stat(socket.c_str(), &status) == 0)
    host["GroupAdd"] = {
      std::to_string(status.st_gid)}; // A program that is not root may use the socket.
  if (auto network = resolve({}).backend_values["docker_network"]; !network.empty())
    host["NetworkMode"] = network;
  if (request.cpu > 0)
    host["NanoCpus"] = static_cast<std::int64_t>(request.cpu * 1e9);
  if (auto bytes = static_cast<std::int64_t>(request.memory_mb) << 20; bytes > 0)
    host["Memory"] = host["MemorySwap"] = bytes;
  if (request.gpu > 0)
    host["DeviceRequests"] = {{{"Count", request.gpu}, {"Capabilities", {{"gpu"}}}}};
  return host;
}

json driver_body(Client& client, const RunRequest& request, const std::string& image) {
  auto variables = carried_settings();
  for (auto& [name, value] : request.environment)
    variables[name] = value;
  variables["FIBER_BACKEND"] = "docker";
  json environment = json::array();
  for (auto& [name, value] : variables)
    environment.push_back(name + "=" + value);
  std::vector<std::string> arguments(request.command.begin() + 1, request.command.end());
  json body{{"Image", image},
            {"Cmd", arguments},
            {"Env", environment},
            {"Labels", {{driver_label, request.command.front()}}},
            {"HostConfig", host_config(client, request)}};
  if (auto user = resolve({}).backend_values["docker_user"]; !user.empty())
    body["User"] = user;
  if (!request.build &&
      !is_entrypoint(find_image(client, image), request.command.front()))
    body["Entrypoint"] = {program_in_image(request.command.front())};
  return body;
}

/// The output of a running container, and the signals for it.
class Attached {
public:
  Attached(Client& client, std::string id, Interrupts& interrupts)
    : client_(client), id_(std::move(id)), interrupts_(interrupts) {
    on_loop([this] {
      client_.loop().watch(interrupts_.fd(), EPOLLIN,
                           [this](std::uint32_t) { on_signal(); });
      follow("");
    });
  }
  ~Attached() {
    on_loop([this] {
      client_.loop().unwatch(interrupts_.fd());
      client_.engine().client().cancel(stream_);
    });
  }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

  /// Waits for the container's end. Returns its state.
  json wait() {
    for (;;) {
      ended_.get_future().wait();
      auto told = Client::json_of(client_.ask("GET", "/containers/" + id_ + "/json"),
                                  "look at the container");
      if (part(told, {"State", "Running"}) != true)
        return part(told, {"State"});
      on_loop([this] { // The engine has cut the stream off, as when it restarts.
        ended_ = {};
        follow("&since=" + std::to_string(std::time(nullptr)));
      });
    }
  }

private:
  void on_loop(const std::function<void()>& f) {
    std::promise<void> done;
    client_.loop().post([&] {
      f();
      done.set_value();
    });
    done.get_future().wait();
  }

  // On the loop's thread.
  void follow(const std::string& since) {
    auto request = client_.engine().request(
      "GET", "/containers/" + id_ + "/logs?follow=1&stdout=1&stderr=1" + since);
    request.limit = {};
    stream_ = client_.engine().client().stream(
      std::move(request),
      {.data =
         [this](std::string_view piece) {
           output_.feed(piece);
           return true;
         }},
      [this](const backends::http::Reply&) { ended_.set_value(); });
  }

  void on_signal() {
    auto signal = interrupts_.take();
    if (signal.number == 0)
      return;
    bool again = ++signals_ > 1;
    std::fprintf(stderr, "fiber: %s\n",
                 again ? "stopping everything"
                       : "asked the program to stop; the next signal stops everything");
    auto name = again ? "SIGKILL" : signal.number == SIGINT ? "SIGINT" : "SIGTERM";
    client_.engine().client().send(
      client_.engine().request("POST", "/containers/" + id_ + "/kill?signal=" + name),
      [](const auto&) {});
  }

  Client& client_;
  std::string id_;
  Interrupts& interrupts_;
  Output output_;
  int signals_ = 0;
  backends::http::Client::Id stream_ = 0;
  std::promise<void> ended_;
};

int report_end(const RunRequest& request, const json& state, const std::string& id,
               const std::string& name) {
  auto code = static_cast<int>(number(state, {"ExitCode"}, 1));
  if (auto problem = text(state, {"Error"}); !problem.empty())
    std::fprintf(stderr, "fiber: %s\n", problem.c_str());
  if (part(state, {"OOMKilled"}) == true)
    std::fprintf(stderr,
                 "fiber: the program needed more memory than it may have (--memory)\n");
  if (request.json)
    std::fprintf(
      stderr, "%s\n",
      json{{"backend", "docker"}, {"name", name}, {"id", id}, {"exit_code", code}}
        .dump()
        .c_str());
  return code;
}

void report_start(const RunRequest& request, Client& client, const std::string& id,
                  const std::string& name, const std::string& image) {
  const auto* command = client.engine().is_podman() ? "podman" : "docker";
  if (request.json)
    std::printf("%s\n",
                json{{"backend", "docker"}, {"name", name}, {"id", id}, {"image", image}}
                  .dump()
                  .c_str());
  else
    std::printf("%s runs as container %s of %s; %s logs -f %s shows its output, and "
                "fiber stop %s ends it and its workers\n",
                name.c_str(), short_id(id).c_str(), image.c_str(), command, name.c_str(),
                name.c_str());
}

} // namespace

int run(const RunRequest& request) {
  Client client(configured_host());
  auto image = prepare_image(client, request);
  auto body = driver_body(client, request, image);
  Interrupts interrupts;
  OwnedContainer container(client, body, request.name);
  auto id = container.id();
  auto described = Client::json_of(client.ask("GET", "/containers/" + id + "/json"),
                                   "look at the container");
  auto name = text(described, {"Name"});
  name.erase(0, name.find_first_not_of('/'));
  Client::json_of(client.ask("POST", "/containers/" + id + "/start"), "start " + image);
  if (request.detach) {
    container.release();
    report_start(request, client, id, name, image);
    return 0;
  }
  Attached attached(client, id, interrupts);
  return report_end(request, attached.wait(), id, name);
}

} // namespace fiber::cli::docker
