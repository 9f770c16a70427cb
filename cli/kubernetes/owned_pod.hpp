// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "cli/kubernetes/client.hpp"

namespace fiber::cli::kubernetes {

/// A pod that is removed at the end, whatever happens.
class OwnedPod {
public:
  /// Creates the pod. Throws Error, whose text names the pod by `what`, as in "the
  /// driver's pod".
  OwnedPod(Client& client, const nlohmann::json& body, const std::string& what);
  ~OwnedPod();
  OwnedPod(const OwnedPod&) = delete;
  OwnedPod& operator=(const OwnedPod&) = delete;

  std::string path() const { return client_.api().path("pods", name_); }
  /// Lets the cluster send it SIGTERM, and SIGKILL later.
  void remove(long seconds);
  /// Leaves it to others.
  void release() { name_.clear(); }

private:
  Client& client_;
  std::string name_;
};

/// Returns a name for a pod that is free: some words and random digits.
std::string free_name(const std::string& words);

} // namespace fiber::cli::kubernetes
