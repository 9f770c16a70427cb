// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <caf/all.hpp>

#include "actors/core/reply.hpp"
#include "actors/manager/managed_objects.hpp"
#include "actors/manager/object_host.hpp"
#include "actors/manager/object_job.hpp"
#include "actors/process/process_actor.hpp"
#include "actors/supervision/supervisor_actor.hpp"
#include "fiber/supervisor.hpp"
#include "libfiber/manager/control_core.hpp"

namespace fiber::detail {

/// The children of a supervisor that live in one job, now and after each restart: what
/// its actor has as one child. Most have one object, small ones share.
///
/// Thread safety: any thread may call any member function, but reserve() and give_back()
/// under the lock of the supervisor.
class SupervisedGroup final : public ControlCore {
public:
  static std::shared_ptr<SupervisedGroup>
  make(const ObjectPlace& place, const std::string& name, const SpawnOptions& options);

  const std::string& name() const { return name_; }
  /// Whether another child fits in; then it has its place.
  bool reserve(const SpawnOptions& options);
  void give_back(const SpawnOptions& options) { used_ -= options.resources.cpu; }

  /// Its first object, before it starts.
  std::shared_ptr<actors::ObjectHandle> add(const PackedItem& recipe);
  actors::ChildSpec spec(std::function<void(const caf::error& why)> forgotten);
  /// Of an inline session, instead of having its supervisor start it.
  void start_here();
  /// Waits until it has started for the first time. Null, or why it has not.
  std::exception_ptr await_start();
  /// There will be no job any more; `why`: its end or, if null, that was wanted.
  void finish(const std::exception_ptr& why);
  /// Why it last ended in failure; null if it never did.
  std::exception_ptr problem() const;
  /// `f` runs after each restart from now on.
  void on_restart(std::function<void()> f);
  ChildInfo info() const;

private:
  SupervisedGroup(const ObjectPlace& place, std::shared_ptr<actors::ObjectHandle> control,
                  std::shared_ptr<actors::ManagedObjects> objects, std::string name,
                  const SpawnOptions& options);
  caf::actor start(caf::event_based_actor* supervisor);
  void up();
  void down(const std::exception_ptr& why);
  [[noreturn]] void fail_closed() const override;

  const std::shared_ptr<actors::ManagedObjects> objects_;
  const std::string name_;
  const Restart restart_;
  const bool shared_;
  double used_;                              ///< Of one cpu.
  actors::ObjectJob::Start starter_;         ///< None on an inline session.
  std::shared_ptr<actors::ObjectHost> host_; ///< There only.
  actors::Reply<std::exception_ptr> started_;
  mutable std::mutex mutex_;
  int starts_ = 0, ups_ = 0;
  std::exception_ptr problem_;
  std::shared_ptr<actors::ProcessNews> news_;
  std::vector<std::function<void()>> hooks_;
};

/// Whether such a child lives with others.
bool shares_a_job(const SpawnOptions& options);

} // namespace fiber::detail
