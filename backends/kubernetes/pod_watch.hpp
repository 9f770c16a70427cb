// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "backends/engine/loop.hpp"
#include "backends/kubernetes/api.hpp"

namespace fiber::backends::kubernetes {

/// Events of all pods that match a selector: a list, then a watch, which is resumed after
/// an interruption. Lists again if the server no longer has the missed events (410). Used
/// on the loop's thread only.
class PodWatch {
public:
  struct Handler {
    std::function<void(const nlohmann::json& pod)> changed;
    std::function<void(const nlohmann::json& pod)> deleted; ///< Gets the last state.
    /// `list` has all pods: those that existed at the call of listing() and are not in it
    /// are gone.
    std::function<void(const nlohmann::json& list)> listed;
    std::function<void()> listing;
  };

  /// The server sends bookmarks about once a minute, so a watch that is silent for
  /// `silence_limit` is dead. It also ends each watch after a while.
  PodWatch(Loop& loop, Api& api, const std::string& selector, Handler handler,
           std::chrono::milliseconds silence_limit = std::chrono::seconds(150));
  void start() { list(); }

private:
  void list();
  void on_list(const http::Reply& reply);
  void watch();
  void on_line(const std::string& line);
  void on_end(const http::Reply& reply);
  void retry(void (PodWatch::*order)(), const http::Reply& reply);

  Loop& loop_;
  Api& api_;
  const std::string selector_;
  const Handler handler_;
  const std::chrono::milliseconds silence_limit_;
  std::string version_, line_;
  std::string last_problem_; // The last problem logged.
  Loop::Clock::time_point began_{};
  bool events_lost_ = false; // The server no longer has the events after version_.
  int tries_ = 0;
};

} // namespace fiber::backends::kubernetes
