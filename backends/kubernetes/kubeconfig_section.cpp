// SPDX-License-Identifier: Apache-2.0
#include "backends/kubernetes/kubeconfig_section.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "backends/kubernetes/access.hpp"
#include "backends/kubernetes/watched_file.hpp"

namespace fiber::backends::kubernetes {

namespace {

std::string at_line(const std::string& file, const YAML::Mark& mark) {
  return mark.is_null() ? file : file + ":" + std::to_string(mark.line + 1);
}

YAML::Node parse(const std::string& file, const std::string& text) {
  try {
    return YAML::Load(text);
  } catch (const YAML::Exception& error) {
    throw AccessError("(syntax)", at_line(file, error.mark), "YAML", error.msg);
  }
}

nlohmann::json scalar_to_json(const YAML::Node& node) {
  bool quoted = node.Tag() == "!";
  auto value = nlohmann::json::parse(node.Scalar(), nullptr, false);
  if (!quoted && (value.is_number() || value.is_boolean()))
    return value;
  return node.Scalar();
}

/// `budget` limits recursive or exponentially growing aliases.
nlohmann::json to_json(const YAML::Node& node, int& budget) {
  if (--budget < 0)
    throw std::length_error("is too large");
  if (node.IsSequence()) {
    auto list = nlohmann::json::array();
    for (const auto& item : node)
      list.push_back(to_json(item, budget));
    return list;
  }
  if (node.IsMap()) {
    auto map = nlohmann::json::object();
    for (const auto& item : node)
      map[item.first.IsScalar() ? item.first.Scalar() : ""] =
        to_json(item.second, budget);
    return map;
  }
  return node.IsScalar() ? scalar_to_json(node) : nlohmann::json();
}

} // namespace

Section Section::load(const std::string& file) {
  WatchedFile content(file);
  if (!content.error().empty() && content.error() != "is empty")
    throw AccessError("(all)", file, "a file that can be read", content.error());
  auto root = parse(file, content.text());
  if (!root.IsNull() && !root.IsMap())
    throw AccessError("(all)", at_line(file, root.Mark()), "a mapping, kind: Config",
                      "is no mapping");
  return {root, "", file};
}

YAML::Node Section::find(const std::string& key) const {
  if (!node_.IsMap())
    return {};
  auto value = node_[key];
  return value.IsDefined() ? value : YAML::Node();
}

bool Section::has(const std::string& key) const {
  return !find(key).IsNull();
}

std::string Section::text(const std::string& key) const {
  auto value = find(key);
  if (value.IsNull())
    return {};
  if (!value.IsScalar())
    fail(key, "is no text", "text");
  return value.Scalar();
}

std::string Section::required(const std::string& key, const std::string& valid) const {
  auto value = text(key);
  if (value.empty())
    fail(key, "is missing", valid);
  return value;
}

bool Section::flag(const std::string& key) const {
  auto value = find(key);
  bool result = false;
  if (!value.IsNull() && !YAML::convert<bool>::decode(value, result))
    fail(key, "is neither true nor false", "true, false");
  return result;
}

std::vector<YAML::Node> Section::list(const std::string& key, const char* valid) const {
  auto value = find(key);
  if (value.IsNull())
    return {};
  if (!value.IsSequence())
    fail(key, "is no list", valid);
  return {value.begin(), value.end()};
}

std::vector<std::string> Section::texts(const std::string& key) const {
  std::vector<std::string> result;
  for (const auto& item : list(key, "a list of texts")) {
    if (!item.IsScalar())
      fail(key, "has an item that is no text", "a list of texts");
    result.push_back(item.Scalar());
  }
  return result;
}

Section Section::section(const std::string& key) const {
  auto value = find(key);
  if (!value.IsNull() && !value.IsMap())
    fail(key, "is no mapping", "a mapping");
  return {value, full_key(key), file_};
}

std::vector<Section> Section::sections(const std::string& key) const {
  std::vector<Section> result;
  for (const auto& item : list(key, "a list of mappings")) {
    auto path = full_key(key) + "[" + std::to_string(result.size()) + "]";
    if (!item.IsMap())
      throw AccessError(path, at_line(file_, item.Mark()), "a mapping", "is no mapping");
    result.push_back({item, path, file_});
  }
  return result;
}

std::vector<std::string> Section::keys() const {
  std::vector<std::string> result;
  if (node_.IsMap())
    for (const auto& item : node_)
      if (item.first.IsScalar())
        result.push_back(item.first.Scalar());
  return result;
}

std::string Section::json(const std::string& key) const {
  int budget = 2000;
  try {
    return to_json(find(key), budget).dump();
  } catch (const std::exception& error) { // Also for text that is not UTF-8.
    fail(key, error.what(), "plain data");
  }
}

std::string Section::place(const std::string& key) const {
  auto value = find(key);
  return at_line(file_, value.IsNull() ? node_.Mark() : value.Mark());
}

std::string Section::full_key(const std::string& key) const {
  return path_.empty() ? key : path_ + "." + key;
}

std::string Section::resolve(const std::string& path) const {
  return (std::filesystem::absolute(file_).parent_path() / path).lexically_normal();
}

void Section::fail(const std::string& key, std::string problem, std::string valid) const {
  throw AccessError(full_key(key), place(key), std::move(valid), std::move(problem));
}

} // namespace fiber::backends::kubernetes
