// SPDX-License-Identifier: Apache-2.0
#include "libfiber/session/inline_host.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "actors/job/job_node.hpp"
#include "actors/job/process_exit.hpp"
#include "actors/protocol/node_boot.hpp"
#include "base/failure.hpp"
#include "wire/reactor.hpp"
#include "wire/stream_link.hpp"

namespace fiber::detail {

struct InlineHost::Node {
  actors::NodeBoot boot;
  std::shared_ptr<wire::Link> link;
  std::vector<std::shared_ptr<actors::SlotWorker>> slots;
  std::shared_ptr<actors::JobNode> node;
  bool over = false;                           ///< Guarded by mutex_.
  std::optional<actors::CallCode> initializer; ///< Once received. Guarded by mutex_.
  std::size_t initialized = 0;                 ///< Slots whose initializer has begun.
  int exit_code = 0;
  std::function<void(int, std::string)> ended;
};

InlineHost::InlineHost(caf::actor_system& system, wire::Reactor& reactor,
                       std::shared_ptr<actors::Arrivals> arrivals,
                       std::shared_ptr<actors::ObjectSpace> objects)
  : system_(system), reactor_(reactor), arrivals_(std::move(arrivals)),
    objects_(std::move(objects)) {}

InlineHost::~InlineHost() = default;

std::function<void()> InlineHost::start(const backends::JobSpec& spec,
                                        std::function<void(int, std::string)> ended) {
  auto node = std::make_shared<Node>();
  node->boot = actors::NodeBoot::unpack(spec.boot);
  node->ended = std::move(ended);
  auto [ours, drivers] = wire::loopback();
  node->link = ours;
  for (std::uint32_t i = 0; i < node->boot.slots; ++i) {
    actors::SlotWorker::Settings settings{
      i,       node->boot.first_rank + i, node->link, nullptr,         [](auto) {},
      nullptr, node->boot.task_timeout,   nullptr,    node->boot.trace};
    settings.objects = objects_;
    // The loopback link loses nothing, so the slot may finish at once. Later there may
    // be no thread that waits and could run it.
    if (node->boot.use != actors::NodeUse::pool)
      settings.after_task = [of = node.get(), i](auto status, auto& result) {
        of->exit_code = actors::process_exit_code(of->boot, status, result);
        of->slots[i]->finish();
      };
    node->slots.push_back(std::make_shared<actors::SlotWorker>(std::move(settings)));
  }
  std::weak_ptr<Node> weak = node;
  auto stop = [this, weak](int code, const std::string& why) {
    if (auto known = weak.lock())
      end(known, code, why);
  };
  node->node = std::make_shared<actors::JobNode>(
    actors::NodeParts{node->boot.incarnation, node->link, node->slots,
                      [this, weak](actors::CallCode code) {
                        std::lock_guard lock(mutex_);
                        if (auto known = weak.lock())
                          known->initializer = std::move(code);
                      },
                      [stop](int code) { stop(code, "ended itself"); },
                      [this](auto delay, auto f) { reactor_.after(delay, std::move(f)); },
                      node->boot.task_timeout, objects_});
  node->link->start(node->node);
  {
    std::lock_guard lock(mutex_);
    nodes_.push_back(node);
  }
  arrivals_->arrived(system_, node->boot.incarnation, drivers);
  return [stop] { stop(-15, "ended by terminate()"); };
}

void InlineHost::end(const std::shared_ptr<Node>& node, int code,
                     const std::string& why) {
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(node->over, true))
      return;
    nodes_.remove(node);
  }
  node->link->close();
  node->ended(code, why);
}

bool InlineHost::has_ended(const Node& node) {
  std::lock_guard lock(mutex_);
  return node.over;
}

/// Runs the initializer in each slot. The initializer, or the messages that it causes,
/// may end the node.
void InlineHost::initialize(Node& node) {
  while (node.initialized < node.slots.size()) {
    if (has_ended(node))
      return;
    std::optional<actors::CallCode> initializer;
    if (node.boot.initializer) {
      std::lock_guard lock(mutex_);
      if (!node.initializer)
        return;
      initializer = node.initializer;
    }
    auto& slot = *node.slots[node.initialized++];
    try {
      if (initializer)
        slot.initialize(*initializer);
      node.node->slot_ready();
    } catch (...) {
      node.node->slot_failed(capture_failure());
    }
  }
}

void InlineHost::close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  std::lock_guard turn(turn_);
}

void InlineHost::add(std::weak_ptr<actors::ObjectHost> objects) {
  std::lock_guard lock(mutex_);
  hosts_.push_back(std::move(objects));
}

bool InlineHost::run_one() {
  std::unique_lock turn(turn_, std::try_to_lock);
  if (!turn)
    return false;
  std::list<std::shared_ptr<Node>> nodes;
  std::list<std::weak_ptr<actors::ObjectHost>> hosts;
  {
    std::lock_guard lock(mutex_);
    if (closed_)
      return false;
    nodes = nodes_;
    hosts_.remove_if([](auto& host) { return host.expired(); });
    hosts = hosts_;
    if (!hosts_.empty())
      hosts_.splice(hosts_.end(), hosts_, hosts_.begin());
    if (!nodes_.empty()) // Round robin.
      nodes_.splice(nodes_.end(), nodes_, nodes_.begin());
  }
  for (auto& node : nodes) {
    initialize(*node);
    if (has_ended(*node))
      continue;
    auto stepped =
      std::ranges::any_of(node->slots, [](auto& slot) { return slot->step(); });
    if (std::ranges::all_of(node->slots, [](auto& slot) { return slot->finished(); }))
      end(node, node->exit_code, "");
    if (stepped)
      return true;
  }
  for (auto& host : hosts)
    if (auto known = host.lock(); known && known->step())
      return true;
  return false;
}

} // namespace fiber::detail
