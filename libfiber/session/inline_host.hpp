// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include <caf/all.hpp>

#include "actors/driver/node_link_actor.hpp"
#include "actors/job/slot_worker.hpp"
#include "actors/manager/object_host.hpp"
#include "backends/backend.hpp"

namespace fiber::detail {

/// The nodes of an inline session: within this process, without threads. Their tasks run
/// on a thread that waits for a result, one at a time.
class InlineHost {
public:
  InlineHost(caf::actor_system& system, std::shared_ptr<actors::Arrivals> arrivals,
             std::shared_ptr<actors::ObjectSpace> objects);
  ~InlineHost();

  /// Starts a node; returns what stops it. `ended` is called once, with its exit code.
  std::function<void()> start(const backends::JobSpec& spec,
                              std::function<void(int, std::string)> ended);
  /// From now on run_one() runs calls of its objects as well.
  void add(std::weak_ptr<actors::ObjectHost> objects);
  /// Runs one task of any node. False if there is none, or another thread is at it.
  bool run_one();
  /// Waits until no other thread runs a task; none runs any from now on.
  void close();

private:
  struct Node;

  void end(const std::shared_ptr<Node>& node, int code, const std::string& why);
  /// Null if the node has ended.
  caf::actor actor_of(const Node& node);
  void initialize(Node& node);

  caf::actor_system& system_;
  std::shared_ptr<actors::Arrivals> arrivals_;
  std::shared_ptr<actors::ObjectSpace> objects_;
  std::recursive_mutex turn_; ///< Who runs tasks; a task that waits runs others.
  std::mutex mutex_;
  std::list<std::shared_ptr<Node>> nodes_;             ///< Whose turn it is comes first.
  std::list<std::weak_ptr<actors::ObjectHost>> hosts_; ///< The same.
  bool closed_ = false;
};

} // namespace fiber::detail
