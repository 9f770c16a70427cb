// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fstream>

#include <yaml-cpp/yaml.h>

#include "backends/kubernetes/access.hpp"
#include "backends/kubernetes/manifests.hpp"
#include "backends/kubernetes/pod_state.hpp"
#include "backends/kubernetes/reply_json.hpp"

namespace fiber::backends::kubernetes {

namespace {

using nlohmann::json;

constexpr auto key = "kubernetes_pod_template";
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

json to_json(const YAML::Node& node, const std::string& path, int depth = 0) {
  constexpr int deepest = 50; // Stops recursive aliases.
  if (depth > deepest)
    throw AccessError(key, at(path, node.Mark()), valid, "it is nested too deep");
  if (node.IsScalar())
    return scalar(node);
  if (node.IsSequence()) {
    json list = json::array();
    for (auto& each : node)
      list.push_back(to_json(each, path, depth + 1));
    return list;
  }
  if (!node.IsMap())
    return nullptr;
  json map = json::object();
  for (auto& each : node)
    map[each.first.Scalar()] = to_json(each.second, path, depth + 1);
  return map;
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
    document = YAML::LoadFile(path);
  } catch (const YAML::BadFile&) {
    throw AccessError(key, path, "a file that can be read", "can't be read");
  } catch (const YAML::ParserException& error) {
    throw AccessError(key, at(path, error.mark), valid, error.msg);
  }
  auto read = to_json(document, path);
  if (read.is_object() && read.contains("template")) // A PodTemplate.
    read = read["template"];
  if (!read.is_object() || !read.contains("spec") || !read["spec"].is_object())
    throw AccessError(key, at(path, document.Mark()), valid, "there is no spec");
  json pod{{"metadata", json::object()}, {"spec", read["spec"]}};
  auto about = read.value("metadata", json::object());
  for (auto* part : {"labels", "annotations"})
    if (about.is_object() && about.contains(part))
      pod["metadata"][part] = about[part];
  name_container(pod["spec"]);
  return pod;
}

} // namespace fiber::backends::kubernetes
