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

/// A folder for kubeconfigs, tokens and plugins, and an environment without variables of
/// Kubernetes other than the test's. Both are restored at the end.
class KubernetesFiles : public testing::Test {
protected:
  KubernetesFiles();
  ~KubernetesFiles() override;

  const std::string& folder() const { return folder_; }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  /// Writes a file, replacing it atomically as projected volumes do. Returns its path.
  std::string write(const std::string& name, const std::string& text);
  /// Writes a shell script.
  std::string write_script(const std::string& name, const std::string& body);
  void set(const std::string& name, const std::string& value);

  /// Writes `text` to the file "config" and reads it.
  Access read(const std::string& text, KubeconfigOptions options = {});
  /// Returns a kubeconfig with one context. From line 8 on it has these lines for the
  /// user, then those for the cluster.
  static std::string config(const std::string& user, const std::string& cluster = "");
  /// Returns the error of a kubeconfig. Fails the test if there is none.
  AccessError error_of(const std::string& text, KubeconfigOptions options = {});

private:
  std::string folder_;
  std::map<std::string, std::optional<std::string>> before_;
};

} // namespace fiber::backends::kubernetes
