// SPDX-License-Identifier: Apache-2.0
#include "backends/kubernetes/images.hpp"

#include <algorithm>

#include "backends/kubernetes/pod_state.hpp"
#include "backends/kubernetes/reply_json.hpp"
#include "base/log.hpp"

namespace fiber::backends::kubernetes {

namespace {

using nlohmann::json;

constexpr auto digest_mark = "@sha256:";

/// Returns the repository of an image's name with the defaults that container runtimes
/// add: "pi:1" is of "docker.io/library/pi".
std::string repository(std::string name) {
  name.resize(std::min(name.find('@'), name.size()));
  auto last = name.rfind('/');
  if (auto tag = name.rfind(':'); tag != name.npos && (last == name.npos || tag > last))
    name.resize(tag);
  auto host = name.substr(0, name.find('/'));
  if (host.size() == name.size())
    return "docker.io/library/" + name;
  if (host.find_first_of(".:") == host.npos && host != "localhost")
    return "docker.io/" + name;
  return name;
}

} // namespace

std::string image_by_digest(const json& pod, const std::string& container) {
  auto name = text(named(part(pod, "spec", "containers"), container), "image");
  auto& status = named(part(pod, "status", "containerStatuses"), container);
  auto id = text(status, "imageID");
  if (auto scheme = id.find("://"); scheme != id.npos)
    id.erase(0, scheme + 3);
  if (id.find(digest_mark) == id.npos || repository(id) != repository(name))
    return {};
  return id;
}

void Images::note(const json& pod) {
  auto name = text(named(part(pod, "spec", "containers"), container_name), "image");
  if (name.find('@') != name.npos || digests_.contains(name))
    return;
  auto digest = image_by_digest(pod, container_name);
  if (digest.empty())
    return;
  log().info("kubernetes: {} is {} in this session", name, digest);
  digests_[name] = digest;
}

void Images::pin(json& pod) const {
  for (auto& each : pod.at("spec").at("containers"))
    if (text(each, "name") == container_name)
      if (auto known = digests_.find(text(each, "image")); known != digests_.end())
        each["image"] = known->second;
}

} // namespace fiber::backends::kubernetes
