// SPDX-License-Identifier: Apache-2.0
// supervision/ implements Supervisor, Checkpoint and find().
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <typeinfo>
#include <vector>

#include <caf/all.hpp>

#include "actors/core/reply.hpp"
#include "actors/supervision/supervisor_actor.hpp"
#include "fiber/supervisor.hpp"
#include "libfiber/objects/object_core.hpp"
#include "libfiber/session/runtime.hpp"
#include "libfiber/supervision/supervised_group.hpp"

namespace fiber::detail {

/// The shared state of a Supervisor: its list of children, which survives restarts of its
/// actor (actors/supervision/supervisor_actor.hpp). The actor decides when children start
/// and stop.
class SupervisorCore final : public ActorHolder,
                             public std::enable_shared_from_this<SupervisorCore> {
public:
  static std::shared_ptr<SupervisorCore> make(const SupervisorOptions& options);
  /// Creates a supervisor that is a child of this one.
  std::shared_ptr<SupervisorCore> nested(const SupervisorOptions& options);
  bool is_root() const { return above_.expired(); }

  // See Supervisor.
  ObjectRef spawn(const SpawnOptions& options, const std::type_info& type,
                  const PackedItem& recipe);
  void on_restart(const ObjectRef& child, std::function<void()> f);
  void stop();
  std::vector<ChildInfo> children() const;
  void check_open() const;

  // For observers.
  const std::string& name() const { return name_; }
  Strategy strategy() const { return options_.strategy; }
  bool has_ended() const { return has_ended_.is_set(); }
  std::vector<std::shared_ptr<SupervisorCore>> nested_cores() const;

  void closing() override;
  void release() override;

private:
  using GroupPtr = std::shared_ptr<SupervisedGroup>;
  using CorePtr = std::shared_ptr<SupervisorCore>;
  struct Child {
    std::string name;
    bool named = false;     ///< The program chose the name.
    bool published = false; ///< Visible to find().
    GroupPtr group;
    ObjectRef object; ///< Keeps the object alive.
    CorePtr nested;   ///< Set instead of group and object.
  };

  SupervisorCore(ObjectPlace place, const SupervisorOptions& options,
                 const CorePtr& above);
  void start();
  actors::SupervisorConfig config_locked();
  caf::actor start_actor(caf::actor_system& system);
  void actor_ended(const caf::error& why);
  actors::ChildSpec spec_of(const GroupPtr& group);
  actors::ChildSpec spec_of(const CorePtr& core);

  Child reserve(const SpawnOptions& options, const std::type_info& type);
  ObjectRef add(Child child, const std::type_info& type,
                const std::shared_ptr<actors::ObjectHandle>& object);
  void publish(const Child& child, const std::type_info& type,
               const std::shared_ptr<actors::ObjectHandle>& object);
  ObjectRef start_group(Child child, const SpawnOptions& options,
                        const std::type_info& type, const PackedItem& recipe,
                        std::unique_lock<std::mutex> searching);
  GroupPtr room_for(const SpawnOptions& options);
  bool is_taken_locked(const std::string& name) const;
  void forget_names(const std::vector<Child>& children);
  void forget(const GroupPtr& group, const caf::error& why);
  void forget(const CorePtr& core, const std::exception_ptr& why);
  /// Ends the supervisor for good. `why` is null if that was planned.
  void end(const std::exception_ptr& why);
  void check_open_locked() const;

  const ObjectPlace place_;
  const SupervisorOptions options_;
  const std::weak_ptr<SupervisorCore> above_;
  const std::string name_;
  actors::Signal has_started_, has_ended_;
  mutable std::mutex mutex_;
  std::mutex searching_; ///< Held until a group was found, or a new one can be.
  std::mutex release_;   ///< Guards actor_ against release(). Taken after mutex_.
  bool released_ = false;
  caf::actor actor_; ///< Current actor; null on an inline session.
  std::vector<Child> children_;
  std::vector<CorePtr> stopped_; ///< Children being stopped for good.
  bool ended_ = false;
  bool alive_ = false;
  int starts_ = 0;
  std::string last_error_;
  std::exception_ptr why_; ///< Why it has ended; null: planned.
};

} // namespace fiber::detail
