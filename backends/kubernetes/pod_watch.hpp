// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "backends/kubernetes/api.hpp"
#include "backends/loop.hpp"

namespace fiber::backends::kubernetes {

/// News of all pods with a label, by one list and then one watch: resumed where it broke
/// off, listed anew where the server has forgotten so much (410). On the loop's thread
/// only.
class PodWatch {
public:
  struct Handler {
    std::function<void(const nlohmann::json& pod)> changed;
    std::function<void(const nlohmann::json& pod)> deleted; ///< As it was last.
    /// The pods in `list` are all there are; those that were there when it was asked for
    /// (listing() was told) and are not in it are gone.
    std::function<void(const nlohmann::json& list)> listed;
    std::function<void()> listing;
  };

  PodWatch(Loop& loop, Api& api, std::string selector, Handler handler);
  void start() { list(); }

private:
  void list();
  void on_list(const http::Reply& reply);
  void watch();
  void hear(const std::string& line);
  void on_end(const http::Reply& reply);
  void again(void (PodWatch::*order)(), const http::Reply& reply);

  Loop& loop_;
  Api& api_;
  const std::string selector_;
  const Handler handler_;
  std::string version_, line_;
  bool forgotten_ = false; // The server no longer has what came after version_.
  int tries_ = 0;
};

} // namespace fiber::backends::kubernetes
