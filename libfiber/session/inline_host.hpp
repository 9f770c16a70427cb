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

/// Hosts the nodes of an inline session in this process. Nodes have no threads of their
/// own: a thread that waits for a result runs their tasks, one at a time.
class InlineHost {
public:
  /// `reactor` outlives the nodes' timers.
  InlineHost(caf::actor_system& system, wire::Reactor& reactor,
             std::shared_ptr<actors::Arrivals> arrivals,
             std::shared_ptr<actors::ObjectSpace> objects);
  ~InlineHost();

  /// Starts a node and returns the function that stops it. `ended` is called once, with
  /// the node's exit code.
  std::function<void()> start(const backends::JobSpec& spec,
                              std::function<void(int, std::string)> ended);
  /// Adds a host of objects whose calls run_one() runs too.
  void add(std::weak_ptr<actors::ObjectHost> objects);
  /// Runs one task of any node, or one call. Returns false if there is none, or if
  /// another thread is running one.
  bool run_one();
  /// Waits for the task that another thread is running. No task runs after that.
  void close();

private:
  struct Node;

  void end(const std::shared_ptr<Node>& node, int code, const std::string& why);
  bool has_ended(const Node& node);
  void initialize(Node& node);

  caf::actor_system& system_;
  wire::Reactor& reactor_;
  std::shared_ptr<actors::Arrivals> arrivals_;
  std::shared_ptr<actors::ObjectSpace> objects_;
  std::recursive_mutex turn_; ///< Held while a task runs; a task that waits runs others.
  std::mutex mutex_;
  std::list<std::shared_ptr<Node>> nodes_;             ///< In round-robin order.
  std::list<std::weak_ptr<actors::ObjectHost>> hosts_; ///< In round-robin order.
  bool closed_ = false;
};

} // namespace fiber::detail
