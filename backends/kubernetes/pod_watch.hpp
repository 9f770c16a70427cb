// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "backends/engine/loop.hpp"
#include "backends/kubernetes/api.hpp"

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

  /// A server ends a watch after a while, so that a dead one is noticed, and tells
  /// bookmarks about once a minute: one that is silent for `silence_limit` is dead.
  PodWatch(Loop& loop, Api& api, std::string selector, Handler handler,
           std::chrono::milliseconds silence_limit = std::chrono::seconds(150));
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
  const std::chrono::milliseconds silence_limit_;
  std::string version_, line_;
  std::string told_; // The last problem that was logged.
  Loop::Clock::time_point began_{};
  bool forgotten_ = false; // The server no longer has what came after version_.
  int tries_ = 0;
};

} // namespace fiber::backends::kubernetes
