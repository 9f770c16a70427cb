// SPDX-License-Identifier: Apache-2.0
#include "backends/docker/container.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>

#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "backends/docker/docker_backend.hpp"
#include "backends/docker/engine_socket.hpp"
#include "backends/driver_variables.hpp"
#include "backends/engine/program.hpp"
#include "base/ascii.hpp"
#include "fiber/detail/classic_locale.hpp"

namespace fiber::backends::docker {

namespace {

using nlohmann::json;

constexpr auto nobody = "65532:65532"; // Owns no file in usual images.
constexpr int max_processes = 4096;    // Threads included.
constexpr int not_found = 404;
constexpr auto bridge = "bridge"; // Podman too knows its default network by it.
constexpr auto temporary_folder = "/tmp";

/// Returns whether `user`, "USER[:GROUP]" of an image, is root.
bool is_root(const std::string& user) {
  auto name = user.substr(0, user.find(':'));
  return name.empty() || name == "root" ||
         name.find_first_not_of('0') == std::string::npos;
}

/// Returns candidates for this container's id, which occurs in the paths of files mounted
/// by the engine or of this process's cgroup.
std::vector<std::string> possible_ids() {
  constexpr std::size_t id_size = 64;
  std::vector<std::string> ids;
  for (auto* path : {"/proc/self/mountinfo", "/proc/self/cgroup"}) {
    fiber::detail::Classic<std::ifstream> file(path);
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
    throw EngineError("use docker_network " + network, reply.status,
                      problem(reply) + "; set docker_network to a network of the engine, "
                                       "or to host");
  auto told = json::parse(reply.body, nullptr, false);
  for (auto& config : part(told, {"IPAM", "Config"}))
    if (auto gateway = text(config, {"Gateway"}); !gateway.empty())
      return gateway.substr(0, gateway.find('/'));
  throw EngineError("use docker_network " + network, 0,
                    "it has no gateway, so jobs in it can't reach this process; set "
                    "advertise_address");
}

void enter_own_container(const json& own, Placement& place) {
  place.image = text(own, {"Image"});
  place.own_image = true;
  for (auto& variable : part(own, {"Config", "Env"})) {
    auto word = text(variable, {});
    if (auto equals = word.find('='); equals != word.npos && !sets_driver_only(word))
      place.environment[word.substr(0, equals)] = word.substr(equals + 1);
  }
  if (auto user = text(own, {"Config", "User"}); !is_root(user))
    place.user = user;
  place.directory = program_directory();
}

/// Returns the bind that a named volume stands for: it may be a folder of the engine's
/// machine (driver_opts device). Others stay as they are.
std::string as_bind(Engine& engine, const std::string& bind) {
  auto [source, target] = ends_of(bind);
  if (source.starts_with('/'))
    return bind;
  auto reply =
    engine.client().call(engine.request("GET", "/volumes/" + http::escape(source)));
  if (!reply.ok() && reply.status != not_found) // The engine makes one that is not there.
    throw EngineError("look up volume " + source, reply.status, problem(reply));
  auto told = json::parse(reply.body, nullptr, false);
  auto device = text(told, {"Options", "device"});
  return device.starts_with('/') ? device + ":" + target : bind;
}

/// Chooses the volumes of the jobs.
void choose_volumes(Engine& engine, const json& own, const EngineSocket& socket,
                    const DockerOptions& options, Placement& place) {
  if (options.allowed.contains(driver_volumes))
    for (auto& bind : part(own, {"HostConfig", "Binds"}))
      if (auto words = text(bind, {}); !socket.is_in_own_bind(as_bind(engine, words)))
        place.binds.push_back(words);
  for (auto& bind : options.volumes) {
    if (socket.is_in_volume(as_bind(engine, bind)))
      throw EngineError("use docker_volumes " + bind, 0,
                        "it would give jobs the socket of a container engine, and with "
                        "it the engine's machine; name a folder that has no such socket "
                        "in it");
    place.binds.push_back(bind);
  }
}

/// Adds what keeps a job in its container.
void confine(json& host, const Placement& place) {
  auto is_allowed = [&](auto* word) { return place.allowed.contains(word); };
  if (!is_allowed(capabilities))
    host["CapDrop"] = {"ALL"};
  if (!is_allowed(new_privileges))
    host["SecurityOpt"] = {"no-new-privileges"};
  if (!is_allowed(processes))
    host["PidsLimit"] = max_processes;
  if (is_allowed(writable_root))
    return;
  host["ReadonlyRootfs"] = true;
  bool taken = std::ranges::any_of(
    place.binds, [](auto& bind) { return ends_of(bind).second == temporary_folder; });
  if (!taken)
    host["Tmpfs"] = {{temporary_folder, "rw,exec,nosuid,nodev,mode=1777,size=1g"}};
}

/// Chooses the network of the jobs of a process in the host's network.
void use_network(Engine& engine, Placement& place, const std::string& wanted) {
  place.network = wanted.empty() ? bridge : wanted;
  place.address = engine.is_remote()        ? engine.local_address()
                  : place.network == "host" ? "127.0.0.1"
                                            : gateway_of(engine, place.network);
  // Podman makes a bridge for its first container and removes it with the last one. The
  // bridge of a rootless Podman is not of this machine.
  struct stat socket = {};
  place.address_later =
    engine.is_podman() && !engine.is_remote() && place.network != "host" &&
    ::stat(engine.socket().c_str(), &socket) == 0 && socket.st_uid == 0;
}

/// Chooses the network of the jobs of a process in a container, and its address there.
void join_network(Engine& engine, const json& own, Placement& place,
                  const std::string& wanted) {
  if (text(own, {"HostConfig", "NetworkMode"}) == "host")
    return use_network(engine, place, wanted);
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

/// Returns whether the engine keeps what containers print in files without a limit.
/// Podman's limit is in containers.conf; it ignores that of a request.
bool logs_to_files(Engine& engine) {
  if (engine.is_podman())
    return false;
  auto reply = engine.client().call(engine.request("GET", "/info"));
  return reply.ok() &&
         text(json::parse(reply.body, nullptr, false), {"LoggingDriver"}) == "json-file";
}

} // namespace

Placement find_place(Engine& engine, const DockerOptions& options) {
  Placement place;
  place.executable = program_path();
  place.arguments = program_arguments();
  place.allowed = options.allowed;
  auto own = own_container(engine);
  if (own.is_null()) {
    use_network(engine, place, options.network);
  } else {
    enter_own_container(own, place);
    join_network(engine, own, place, options.network);
  }
  place.logs_to_files = logs_to_files(engine);
  choose_volumes(engine, own, EngineSocket(engine.socket(), own), options, place);
  return place;
}

std::string user_of(const Placement& place, const Image& image) {
  if (!place.user.empty())
    return place.user == "root" ? "0" : place.user; // An image may name no users.
  return is_root(image.user) ? nobody : image.user;
}

std::string container_name(const Placement& place, const JobSpec& spec) {
  auto name = "fiber-" + place.session + "-" + spec.name;
  for (auto& c : name)
    if (!ascii::is_letter_or_digit(c) && c != '_' && c != '.')
      c = '-';
  return name;
}

bool is_ours(const json& described, const Placement& place, const JobSpec& spec) {
  return text(described, {"Config", "Labels", session_label}) == place.session &&
         text(described, {"Config", "Labels", job_label}) == spec.name;
}

json container_body(const JobSpec& spec, const Placement& place, const Image& image) {
  json environment = json::array({"FIBER_NODE=stdin"});
  auto user = user_of(place, image);
  auto variables = place.environment;
  if (user == nobody)
    variables.try_emplace("HOME", temporary_folder);
  for (auto& [name, value] : spec.environment)
    variables[name] = value;
  for (auto& [name, value] : place.resource_variables.of(spec.resources))
    if (!image.variables.contains(name))
      variables.try_emplace(name, value);
  for (auto& [name, value] : variables)
    environment.push_back(std::string(name).append("=").append(value));
  json labels(spec.labels);
  labels[session_label] = place.session;
  labels[job_label] = spec.name;
  labels[image_label] = spec.image.empty() ? place.image : spec.image;
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
  if (place.logs_to_files)
    host["LogConfig"] = {{"Type", "json-file"},
                         {"Config", {{"max-size", "10m"}, {"max-file", "1"}}}};
  confine(host, place);
  json body{
    {"Image", image.id},    {"Cmd", place.arguments}, {"Env", environment},
    {"Labels", labels},     {"User", user},           {"WorkingDir", place.directory},
    {"OpenStdin", true},    {"StdinOnce", true},      {"AttachStdin", true},
    {"AttachStdout", true}, {"AttachStderr", true},   {"HostConfig", host}};
  // In its own image the program has the same path as here; another image must say.
  if ((place.own_image && spec.image.empty()) || !image.has_entrypoint)
    body["Entrypoint"] = {place.executable};
  return body;
}

} // namespace fiber::backends::docker
