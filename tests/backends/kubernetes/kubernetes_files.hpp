// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "backends/kubernetes/access.hpp"

namespace fiber::backends::kubernetes {

inline const std::string certificate =
  "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
inline const std::string private_key =
  "-----BEGIN PRIVATE KEY-----\nBBBB\n-----END PRIVATE KEY-----\n";

/// A folder for kubeconfigs, tokens and plugins, and an environment that has nothing of
/// Kubernetes but what a test sets. Both are put back at the end.
class KubernetesFiles : public testing::Test {
protected:
  KubernetesFiles();
  ~KubernetesFiles() override;

  const std::string& folder() const { return folder_; }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  /// Makes a file, replacing one at once as projected volumes do. Returns its path.
  std::string write(const std::string& name, const std::string& text);
  /// The same, a shell script.
  std::string write_script(const std::string& name, const std::string& body);
  void set(const std::string& name, const std::string& value);

  /// Writes `text` to the file "config" and reads it.
  Access read(const std::string& text, KubeconfigOptions options = {});
  /// A kubeconfig of one context, from line 8 on with these lines for its user and then
  /// these for its cluster.
  static std::string config(const std::string& user, const std::string& cluster = "");
  /// What is wrong with a kubeconfig; fails the test if it is right.
  AccessError error_of(const std::string& text, KubeconfigOptions options = {});

private:
  std::string folder_;
  std::map<std::string, std::optional<std::string>> before_;
};

} // namespace fiber::backends::kubernetes
