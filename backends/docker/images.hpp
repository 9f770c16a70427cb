// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/docker/engine.hpp"

namespace fiber::backends::docker {

/// An image, or why it is not available.
struct Image {
  std::string problem = {}; ///< Empty if the image is available.
  int status = 0;           ///< HTTP status of the problem.
  std::string id = {};      ///< Its digest, which no other image has.
  bool has_entrypoint = false;
  std::string user = {};                ///< Empty: root.
  std::set<std::string> variables = {}; ///< Names of those that it sets.
};

/// The images of an engine. Pulls missing ones, once each, and logs the progress. A name
/// means the same image from its first use on, also if its tag moves. Used on the loop's
/// thread only.
class Images {
public:
  using Done = std::function<void(const Image&)>;
  using News = std::function<void(const std::string& words)>;

  explicit Images(Engine& engine) : engine_(engine) {}
  /// Calls `done` when the image is available, or with the problem. Before that it calls
  /// `news` with words on a pull; they are empty when the pull has succeeded.
  void ensure(const std::string& name, Done done, News news);
  /// Looks the name up again when it is used next: its image is gone.
  void forget(const std::string& name) { known_.erase(name); }

private:
  struct Pull;
  struct Wanted {
    std::vector<std::pair<Done, News>> by;
    std::string words; ///< The last news.
  };

  void inspect(const std::string& name, bool pull);
  void pull(const std::string& name);
  void tell(const std::string& name, const std::string& words);
  void settle(const std::string& name, const Image& image);

  Engine& engine_;
  std::map<std::string, Image> known_;
  std::map<std::string, Wanted> waiting_;
};

} // namespace fiber::backends::docker
