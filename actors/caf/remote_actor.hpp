// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <caf/actor_proxy.hpp>

#include "actors/objects/object_space.hpp"
#include "fiber/detail/caf/message_content.hpp"

namespace fiber::actors {

class ActorPort;

/// A proxy for an actor of another process: it sends the messages that it gets to that
/// process. It is also the sender of requests from there, and sends the responses back.
///
/// The proxy of a spawned actor may lose its place and get another one when the actor is
/// restarted. Meanwhile messages wait, and the proxy ends only when the actor ends for
/// good.
class RemoteActor final : public caf::actor_proxy {
public:
  RemoteActor(caf::actor_config& config, std::shared_ptr<ActorPort> port,
              std::shared_ptr<ObjectHandle> place);
  ~RemoteActor() override;

  using caf::actor_proxy::enqueue;
  detail::Enqueued enqueue(caf::mailbox_element_ptr what,
                           caf::execution_unit* host) override;
  void attach(caf::attachable_ptr what) override;
  void on_destroy() override;
  /// Ends the proxy.
  void kill_proxy(caf::execution_unit* host, caf::error reason) override;

  /// Returns null while there is no place.
  std::shared_ptr<ObjectHandle> place() const;
  const std::shared_ptr<ActorPort>& port() const { return port_; }

  /// Makes `keeper` responsible for the place and for ending the proxy.
  void set_keeper(std::shared_ptr<void> keeper);
  /// Whether it has a keeper.
  bool has_keeper() const;
  /// Drops the place: later messages wait.
  void drop_place();
  /// Sets the place and sends the messages that have waited.
  void set_place(std::shared_ptr<ObjectHandle> place);

  /// Makes the response to the request `mid`, which an actor of this process will give,
  /// the answer to `who`.
  void expect_answer(caf::message_id mid, const Asker& who);

private:
  void deliver(caf::mailbox_element_ptr what);
  void answer(const caf::mailbox_element& response);

  const std::shared_ptr<ActorPort> port_;
  mutable std::mutex place_mutex_;
  std::shared_ptr<ObjectHandle> place_;
  bool watched_ = false, ended_ = false;
  std::shared_ptr<void> keeper_;
  std::deque<caf::mailbox_element_ptr> waiting_; ///< Messages, while there is no place.
  std::map<std::uint64_t, std::vector<Asker>> expected_; ///< By CAF's request id.
};

} // namespace fiber::actors
