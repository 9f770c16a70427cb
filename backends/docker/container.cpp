// SPDX-License-Identifier: Apache-2.0
#include "backends/docker/container.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>

#include <nlohmann/json.hpp>

#include "backends/engine/program.hpp"

namespace fiber::backends::docker {

namespace {

using nlohmann::json;

/// Returns candidates for this container's id, which occurs in the paths of files mounted
/// by the engine or of this process's cgroup.
std::vector<std::string> possible_ids() {
  constexpr std::size_t id_size = 64;
  std::vector<std::string> ids;
  for (auto* path : {"/proc/self/mountinfo", "/proc/self/cgroup"}) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      std::size_t run = 0;
      for (std::size_t i = 0; i <= line.size(); ++i) {
        bool hex =
          i < line.size() && (std::isdigit(static_cast<unsigned char>(line[i])) ||
                              (line[i] >= 'a' && line[i] <= 'f'));
        if (!hex && run == id_size)
          ids.push_back(line.substr(i - id_size, id_size));
        run = hex ? run + 1 : 0;
      }
    }
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

/// Returns the engine's description of this process's container; null outside of one.
json own_container(Engine& engine) {
  constexpr std::size_t most = 8; // More: a host that mounts many containers.
  auto ids = possible_ids();
  if (ids.size() > most)
    return nullptr;
  for (auto& id : ids) {
    auto reply =
      engine.client().call(engine.request("GET", "/containers/" + id + "/json"));
    auto told = json::parse(reply.body, nullptr, false);
    if (reply.ok() && part(told, {"State", "Running"}) == true)
      return told;
  }
  return nullptr;
}

/// Returns the host's address in a network, which is the network's gateway.
std::string gateway_of(Engine& engine, const std::string& network) {
  auto reply =
    engine.client().call(engine.request("GET", "/networks/" + http::escape(network)));
  if (!reply.ok())
    throw EngineError("use docker_network " + network, reply.status, problem(reply));
  auto told = json::parse(reply.body, nullptr, false);
  for (auto& config : part(told, {"IPAM", "Config"}))
    if (auto gateway = text(config, {"Gateway"}); !gateway.empty())
      return gateway.substr(0, gateway.find('/'));
  throw EngineError("use docker_network " + network, 0,
                    "it has no gateway, so jobs in it can't reach this process; set "
                    "advertise_address");
}

void enter_own_container(const json& own, Placement& place, const std::string& socket) {
  place.image = text(own, {"Image"});
  place.own_image = true;
  for (auto& variable : part(own, {"Config", "Env"})) {
    auto word = text(variable, {});
    if (auto equals = word.find('='); equals != word.npos)
      place.environment[word.substr(0, equals)] = word.substr(equals + 1);
  }
  place.user = text(own, {"Config", "User"});
  place.directory = program_directory();
  for (auto& bind : part(own, {"HostConfig", "Binds"})) {
    auto words = text(bind, {}); // Shares data, but not the engine's socket.
    if (words.find(":" + socket) == words.npos && words.find("docker.sock") == words.npos)
      place.binds.push_back(words);
  }
}

/// Chooses the network of the jobs of a process in a container, and its address there.
void join_network(const json& own, Placement& place, const std::string& wanted) {
  auto mode = text(own, {"HostConfig", "NetworkMode"});
  if (mode == "host" && (wanted.empty() || wanted == "host")) {
    place.network = "host";
    place.address = "127.0.0.1";
    return;
  }
  for (auto& [name, network] : part(own, {"NetworkSettings", "Networks"}).items()) {
    auto address = text(network, {"IPAddress"});
    if ((!wanted.empty() && name != wanted) || address.empty())
      continue;
    place.network = name;
    place.address = address;
    return;
  }
  throw EngineError("use docker_network " + wanted, 0,
                    "the container of this process is not in that network");
}

} // namespace

Placement find_place(Engine& engine, const std::string& network) {
  Placement place;
  place.executable = program_path();
  place.arguments = program_arguments();
  auto own = own_container(engine);
  if (!own.is_null()) {
    enter_own_container(own, place, "/var/run/docker.sock");
    join_network(own, place, network);
  } else if (network.empty() || network == "host") {
    place.address = engine.is_remote() ? engine.local_address() : "127.0.0.1";
  } else {
    place.network = network;
    place.address =
      engine.is_remote() ? engine.local_address() : gateway_of(engine, network);
  }
  return place;
}

std::string container_name(const Placement& place, const JobSpec& spec) {
  auto name = "fiber-" + place.session + "-" + spec.name;
  for (auto& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.')
      c = '-';
  return name;
}

bool is_ours(const json& described, const Placement& place, const JobSpec& spec) {
  return text(described, {"Config", "Labels", session_label}) == place.session &&
         text(described, {"Config", "Labels", job_label}) == spec.name;
}

json container_body(const JobSpec& spec, const Placement& place, const Image& image) {
  json environment = json::array({"FIBER_NODE=stdin"});
  auto variables = place.environment;
  for (auto& [name, value] : spec.environment)
    variables[name] = value;
  for (auto& [name, value] : variables)
    environment.push_back(std::string(name).append("=").append(value));
  json labels(spec.labels);
  labels[session_label] = place.session;
  labels[job_label] = spec.name;
  labels[lease_label] = std::to_string(place.lease.count());
  json host{{"AutoRemove", true},
            {"NetworkMode", place.network},
            {"Binds", place.binds},
            {"NanoCpus", static_cast<std::int64_t>(spec.resources.cpu * 1e9)}};
  if (auto bytes = static_cast<std::int64_t>(spec.resources.memory_mb) << 20; bytes > 0) {
    host["Memory"] = bytes;
    host["MemorySwap"] = bytes; // Allows no swap in addition.
  }
  if (spec.resources.gpu > 0)
    host["DeviceRequests"] = {
      {{"Count", spec.resources.gpu}, {"Capabilities", {{"gpu"}}}}};
  json body{{"Image", spec.image.empty() ? place.image : spec.image},
            {"Cmd", place.arguments},
            {"Env", environment},
            {"Labels", labels},
            {"User", place.user},
            {"WorkingDir", place.directory},
            {"OpenStdin", true},
            {"StdinOnce", true},
            {"AttachStdin", true},
            {"AttachStdout", true},
            {"AttachStderr", true},
            {"HostConfig", host}};
  // In its own image the program has the same path as here; another image must say.
  if ((place.own_image && spec.image.empty()) || !image.has_entrypoint)
    body["Entrypoint"] = {place.executable};
  return body;
}

} // namespace fiber::backends::docker
