// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include <nlohmann/json.hpp>

namespace fiber::backends::kubernetes {

/// Returns the image of a pod's container by its digest, "REPOSITORY@sha256:...", as the
/// node reports it. Returns "" if the node reports none of the repository that the pod
/// names, as for images that were imported on the node: nobody could pull it.
std::string image_by_digest(const nlohmann::json& pod, const std::string& container);

/// The images of a session's pods. A name means the same image from the first pod on that
/// runs with it, also if its tag moves. Used on the loop's thread only.
class Images {
public:
  /// Learns what the image of our container in this pod was, if the pod has started.
  void note(const nlohmann::json& pod);
  /// Replaces the image of our container in this pod, which is to be created, by what
  /// its name meant first.
  void pin(nlohmann::json& pod) const;

private:
  std::map<std::string, std::string> digests_; // By name.
};

} // namespace fiber::backends::kubernetes
