// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <yaml-cpp/yaml.h>

#include <map>
#include <string>
#include <vector>

namespace fiber::backends::kubernetes {

/// One mapping of a kubeconfig and the way to it, so that what is wrong in it is told
/// with file, line and key. What is absent or null reads as empty; each function throws
/// AccessError on a value of another kind.
class Section {
public:
  /// Reads a file. Throws AccessError.
  static Section load(const std::string& file);

  bool has(const std::string& key) const;
  std::string text(const std::string& key) const;
  /// The same, but "" is an error that tells `valid`.
  std::string required(const std::string& key, const std::string& valid) const;
  bool flag(const std::string& key) const;
  std::vector<std::string> texts(const std::string& key) const;
  Section section(const std::string& key) const;
  std::vector<Section> sections(const std::string& key) const;
  /// All keys of a mapping, in its order.
  std::vector<std::string> keys() const;
  /// The value as JSON, for those who may put anything there.
  std::string json(const std::string& key) const;

  /// "FILE:LINE" of a key's value, or of the mapping if there is none.
  std::string place(const std::string& key = "") const;
  /// "users[0].user.token"
  std::string full_key(const std::string& key) const;
  /// `path`, as seen from the file's folder.
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
