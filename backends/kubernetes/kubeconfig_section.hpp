// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <yaml-cpp/yaml.h>

#include <map>
#include <string>
#include <vector>

namespace fiber::backends::kubernetes {

/// A mapping of a kubeconfig with its location, so that errors name file, line and key.
/// Absent and null values read as empty. Each function throws AccessError on a value of
/// another kind.
class Section {
public:
  /// Reads a file. Throws AccessError.
  static Section load(const std::string& file);

  bool has(const std::string& key) const;
  std::string text(const std::string& key) const;
  /// Returns the text, which must not be empty; `valid` is for the error.
  std::string required(const std::string& key, const std::string& valid) const;
  bool flag(const std::string& key) const;
  std::vector<std::string> texts(const std::string& key) const;
  Section section(const std::string& key) const;
  std::vector<Section> sections(const std::string& key) const;
  /// Returns all keys, in order.
  std::vector<std::string> keys() const;
  /// Returns a value of any structure as JSON.
  std::string json(const std::string& key) const;

  /// Returns "FILE:LINE" of a key's value, or of the mapping if there is none.
  std::string place(const std::string& key = "") const;
  /// Returns a path such as "users[0].user.token".
  std::string full_key(const std::string& key) const;
  /// Resolves `path` relative to the file's folder.
  std::string resolve(const std::string& path) const;
  [[noreturn]] void fail(const std::string& key, std::string problem,
                         std::string valid) const;

private:
  Section(const YAML::Node& node, std::string path, std::string file)
    : node_(node), path_(std::move(path)), file_(std::move(file)) {}
  YAML::Node find(const std::string& key) const;
  std::vector<YAML::Node> list(const std::string& key, const char* valid) const;

  YAML::Node node_;
  std::string path_, file_;
};

} // namespace fiber::backends::kubernetes
