// SPDX-License-Identifier: Apache-2.0
#include "backends/docker/engine_socket.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include <nlohmann/json.hpp>

#include "backends/docker/engine.hpp"
#include "fiber/detail/classic_locale.hpp"

namespace fiber::backends::docker {

namespace {

/// Where engines listen, besides the one in use.
constexpr const char* usual_sockets[] = {"/run/docker.sock", "/run/podman/podman.sock",
                                         "/run/containerd/containerd.sock",
                                         "/run/crio/crio.sock"};
constexpr std::string_view socket_names[] = {"docker.sock", "podman.sock",
                                             "containerd.sock", "crio.sock"};

/// Returns whether `path` is `folder` or in it.
bool is_within(const std::string& path, const std::string& folder) {
  return folder == "/" || path == folder || path.starts_with(folder + "/");
}

/// Returns `path` without "." and "..", and without its last slash.
std::string normal(const std::string& path) {
  auto made = std::filesystem::path(path).lexically_normal().string();
  while (made.size() > 1 && made.ends_with('/'))
    made.pop_back();
  return made;
}

/// The same for a path of another machine, whose /var/run is a link to /run.
std::string normal_there(const std::string& path) {
  constexpr std::string_view old = "/var/run";
  auto made = normal(path);
  return is_within(made, std::string(old)) ? "/run" + made.substr(old.size()) : made;
}

/// Follows all links; the parts of the path that are not there stay as they are.
std::string resolved(const std::string& path) {
  std::error_code error;
  auto made = std::filesystem::weakly_canonical(path, error).string();
  return normal(error ? path : made);
}

/// Decodes the escapes of /proc/self/mountinfo, such as \040 for a space.
std::string decoded(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain += static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8));
      i += 3;
    } else {
      plain += text[i];
    }
  return plain;
}

/// Returns the path on the engine's machine of what a container sees at `path`; empty if
/// it is no bind's.
std::string path_on_host(const nlohmann::json& own, const std::string& path) {
  std::string found, nearest;
  for (auto& mount : part(own, {"Mounts"})) {
    auto target = normal(text(mount, {"Destination"}));
    if (!is_within(path, target) || target.size() < nearest.size())
      continue;
    nearest = target;
    found = text(mount, {"Source"}) + path.substr(target == "/" ? 0 : target.size());
  }
  return found;
}

} // namespace

std::pair<std::string, std::string> ends_of(const std::string& bind) {
  auto colon = bind.find(":/");
  if (colon == bind.npos)
    return {bind, ""};
  return {bind.substr(0, colon),
          bind.substr(colon + 1, bind.find(':', colon + 1) - colon - 1)};
}

EngineSocket::EngineSocket(const std::string& path, const nlohmann::json& own)
  : mounts_(read_mounts()),
    host_paths_(std::begin(usual_sockets), std::end(usual_sockets)),
    on_host_(own.is_null() && !path.empty()) {
  if (path.empty())
    return;
  auto here = resolved(path);
  place_ = place_of(here);
  for (auto& seen : {here, normal(path)})
    if (auto there = on_host_ ? seen : path_on_host(own, seen); !there.empty())
      host_paths_.push_back(normal_there(there));
}

bool EngineSocket::is_in_volume(const std::string& bind) const {
  auto source = ends_of(bind).first;
  if (!source.starts_with('/')) // The name of a volume.
    return false;
  auto there = normal_there(source);
  auto leads_to = [&](auto& socket) { return is_within(socket, there); };
  auto name = there.substr(there.rfind('/') + 1);
  return std::ranges::any_of(host_paths_, leads_to) ||
         std::ranges::count(socket_names, name) > 0 ||
         (on_host_ && is_seen_under(source));
}

bool EngineSocket::is_in_own_bind(const std::string& bind) const {
  return is_in_volume(bind) || is_seen_under(ends_of(bind).second);
}

std::vector<EngineSocket::Mount> EngineSocket::read_mounts() {
  std::vector<Mount> mounts;
  fiber::detail::Classic<std::ifstream> file("/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    fiber::detail::Classic<std::istringstream> words(line);
    std::string id, parent, device, root, point;
    if (words >> id >> parent >> device >> root >> point)
      mounts.push_back({{device, decoded(root)}, decoded(point)});
  }
  return mounts;
}

/// Of mounts at one point the last one is seen.
EngineSocket::Place EngineSocket::place_of(const std::string& path) const {
  const Mount* nearest = nullptr;
  for (auto& mount : mounts_)
    if (is_within(path, mount.point) &&
        (nearest == nullptr || mount.point.size() >= nearest->point.size()))
      nearest = &mount;
  if (nearest == nullptr)
    return {};
  auto rest = path.substr(nearest->point == "/" ? 0 : nearest->point.size());
  return {nearest->place.device, normal(nearest->place.path + "/" + rest)};
}

/// Returns whether the socket is at `path` or below it, where mounts may lead to it.
bool EngineSocket::is_seen_under(const std::string& path) const {
  auto leads_to = [&](const Place& place) {
    return place.device == place_.device && is_within(place_.path, place.path);
  };
  if (path.empty() || place_.device.empty())
    return false;
  auto here = resolved(path);
  return leads_to(place_of(here)) || std::ranges::any_of(mounts_, [&](auto& mount) {
           return is_within(mount.point, here) && leads_to(mount.place);
         });
}

} // namespace fiber::backends::docker
