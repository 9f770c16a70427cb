// SPDX-License-Identifier: Apache-2.0
// manager/ implements Manager, Ref and this_object: objects that live in a job. It may
// include actors/ and, of libfiber/, objects, results and session.
#pragma once

#include <atomic>
#include <memory>

#include <caf/all.hpp>

#include "actors/core/reply.hpp"
#include "actors/manager/managed_objects.hpp"
#include "actors/manager/object_host.hpp"
#include "fiber/manager.hpp"
#include "libfiber/manager/control_core.hpp"
#include "libfiber/session/runtime.hpp"

namespace fiber::detail {

/// The shared state of a Manager: its actor, and the table of its objects.
class ManagerCore final : public ControlCore, public ActorHolder {
public:
  static std::shared_ptr<ManagerCore> make(ManagerOptions options);

  ObjectRef create_object(PackedItem recipe);
  void check_open() const;
  void set_restore(AnyCallable restore);
  void shutdown();
  void release() override { actor_ = nullptr; }

private:
  ManagerCore(ObjectPlace place, std::shared_ptr<actors::ObjectHandle> control,
              std::shared_ptr<actors::ManagedObjects> objects)
    : ControlCore(std::move(place), std::move(control)), objects_(std::move(objects)) {}
  void start(ManagerOptions options);
  [[noreturn]] void fail_closed() const override;

  const std::shared_ptr<actors::ManagedObjects> objects_;
  const std::shared_ptr<actors::Signal> ended_ = std::make_shared<actors::Signal>();
  std::atomic<bool> over_ = false;
  caf::actor actor_;                         ///< Null on an inline session.
  std::shared_ptr<actors::ObjectHost> host_; ///< Set on an inline session only.
};

} // namespace fiber::detail
