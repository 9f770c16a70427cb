// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string>
#include <system_error>

#include <yaml-cpp/yaml.h>

#include "backends/kubernetes/access.hpp"
#include "backends/kubernetes/manifests.hpp"
#include "backends/kubernetes/pod_state.hpp"
#include "backends/kubernetes/reply_json.hpp"
#include "base/trusted_file.hpp"

namespace fiber::backends::kubernetes {

namespace {

using nlohmann::json;

constexpr auto key = "kubernetes_pod_template";
constexpr std::size_t max_bytes = 2 << 20; // etcd takes 1.5 MiB.
constexpr auto valid = "a Pod, or the template of one, in YAML or JSON";

std::string at(const std::string& path, const YAML::Mark& mark) {
  return mark.is_null() ? path : path + ":" + std::to_string(mark.line + 1);
}

/// Converts a scalar by YAML 1.2's core schema; quoted scalars are strings.
json scalar(const YAML::Node& node) {
  auto text = node.Scalar();
  if (node.Tag() == "!")
    return text;
  if (text == "true" || text == "True" || text == "TRUE")
    return true;
  if (text == "false" || text == "False" || text == "FALSE")
    return false;
  auto number = json::parse(text, nullptr, false);
  return number.is_number() ? number : json(text);
}

/// Converts a document, whose aliases may make much of few bytes.
class Conversion {
public:
  explicit Conversion(const std::string& path) : path_(path) {}

  json operator()(const YAML::Node& node, int depth = 0) {
    constexpr int deepest = 50; // Stops recursive aliases.
    if (depth > deepest)
      throw AccessError(key, at(path_, node.Mark()), valid, "it is nested too deep");
    count(node, node.IsScalar() ? node.Scalar().size() : 0);
    if (node.IsScalar())
      return scalar(node);
    if (node.IsSequence()) {
      json list = json::array();
      for (auto& each : node)
        list.push_back((*this)(each, depth + 1));
      return list;
    }
    if (!node.IsMap())
      return nullptr;
    json map = json::object();
    for (auto& each : node) {
      count(each.first, each.first.Scalar().size());
      map[each.first.Scalar()] = (*this)(each.second, depth + 1);
    }
    return map;
  }

private:
  void count(const YAML::Node& node, std::size_t bytes) {
    constexpr std::size_t of_a_node = 16; // Brackets, quotes, and what JSON takes here.
    bytes_ += bytes + of_a_node;
    if (bytes_ > max_bytes)
      throw AccessError(key, at(path_, node.Mark()), valid,
                        "with its aliases written out it is larger than 2 MiB, more "
                        "than a cluster takes");
  }

  const std::string& path_;
  std::size_t bytes_ = 0;
};

/// Reads a file that is no larger than a Pod may be.
std::string read_bounded(const std::string& path) {
  std::optional<std::string> text;
  try {
    text = read_trusted(path, {.max_bytes = max_bytes + 1});
  } catch (const UntrustedFile& error) {
    throw AccessError(key, path, "a file of this user that nobody else can write",
                      error.what());
  } catch (const std::system_error&) {
  }
  if (!text)
    throw AccessError(key, path, "a file that can be read", "can't be read");
  if (text->size() > max_bytes)
    throw AccessError(key, path, valid,
                      "it is larger than 2 MiB, more than a cluster takes");
  return *text;
}

/// Gives our name to the first container, unless one has it.
void name_container(json& spec) {
  if (!part(spec, "containers").is_array() || spec["containers"].empty())
    return;
  auto& containers = spec["containers"];
  bool there = std::any_of(containers.begin(), containers.end(), [](auto& each) {
    return each.is_object() && each.contains("name") && each["name"] == container_name;
  });
  if (!there && containers[0].is_object())
    containers[0]["name"] = container_name;
}

} // namespace

json read_pod_template(const std::string& path) {
  YAML::Node document;
  try {
    document = YAML::Load(read_bounded(path));
  } catch (const YAML::ParserException& error) {
    throw AccessError(key, at(path, error.mark), valid, error.msg);
  }
  auto told = Conversion(path)(document);
  if (told.is_object() && told.contains("template")) // A PodTemplate.
    told = told["template"];
  if (!told.is_object() || !told.contains("spec") || !told["spec"].is_object())
    throw AccessError(key, at(path, document.Mark()), valid, "there is no spec");
  json pod{{"metadata", json::object()}, {"spec", told["spec"]}};
  auto about = told.value("metadata", json::object());
  for (auto* part : {"labels", "annotations"})
    if (about.is_object() && about.contains(part))
      pod["metadata"][part] = about[part];
  name_container(pod["spec"]);
  return pod;
}

} // namespace fiber::backends::kubernetes
