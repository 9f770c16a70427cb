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

namespace fiber::actors {

class ActorPort;

/// An actor of another process, as an actor of this one: what is sent to it goes there.
/// The other way round it stands for the actor there that waits for answers from here.
///
/// That of a spawned actor may have no place for a while, and then another one: messages
/// wait, and only its final end is its end.
class RemoteActor final : public caf::actor_proxy {
public:
  RemoteActor(caf::actor_config& config, std::shared_ptr<ActorPort> port,
              std::shared_ptr<ObjectHandle> place);
  ~RemoteActor() override;

  using caf::actor_proxy::enqueue;
  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit* host) override;
  void attach(caf::attachable_ptr what) override;
  void on_destroy() override;
  /// Its end.
  void kill_proxy(caf::execution_unit* host, caf::error reason) override;

  /// Null while it has none.
  std::shared_ptr<ObjectHandle> place() const;
  const std::shared_ptr<ActorPort>& port() const { return port_; }

  /// From now on `keeper` sees to it that it has a place, and tells of its end.
  void keep(std::shared_ptr<void> keeper);
  bool kept() const;
  /// What comes from now on waits.
  void displaced();
  void moved(std::shared_ptr<ObjectHandle> place);

  /// The actor here that its request `mid` was sent to will answer: then `who` is told.
  void expect_answer(caf::message_id mid, const Asker& who);

private:
  void answer(const caf::mailbox_element& response);

  const std::shared_ptr<ActorPort> port_;
  mutable std::mutex place_mutex_;
  std::shared_ptr<ObjectHandle> place_;
  bool watched_ = false, ended_ = false;
  std::shared_ptr<void> keeper_;
  std::deque<caf::mailbox_element_ptr> waiting_; ///< For a place.
  std::map<std::uint64_t, std::vector<Asker>> expected_;
};

} // namespace fiber::actors
