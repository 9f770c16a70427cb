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

/// The children of a supervisor that share one job, also after each restart. The
/// supervisor's actor sees the group as one child. Most groups have one object; children
/// with small resources share a group.
///
/// Thread safety: any thread may call any member function, but reserve() and give_back()
/// only under the supervisor's lock.
class SupervisedGroup final : public ControlCore {
public:
  static std::shared_ptr<SupervisedGroup>
  make(const ObjectPlace& place, const std::string& name, const SpawnOptions& options);

  const std::string& name() const { return name_; }
  /// Reserves resources for another child. Returns false if it does not fit.
  bool reserve(const SpawnOptions& options);
  void give_back(const SpawnOptions& options) { used_ -= options.resources.cpu; }

  /// Adds the first object, before the group starts.
  std::shared_ptr<actors::ObjectHandle> add(const PackedItem& recipe);
  actors::ChildSpec spec(std::function<void(const caf::error& why)> forgotten);
  /// Starts the group in this process, on an inline session.
  void start_here();
  /// Waits for the first start. Returns null, or why it failed.
  std::exception_ptr await_start();
  /// Ends the group for good. `why` is null if that was planned.
  void finish(const std::exception_ptr& why);
  /// Returns the last failure, or null.
  std::exception_ptr problem() const;
  /// Makes `f` run after each restart from now on.
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
  double used_;                              ///< Fraction of one CPU.
  actors::ObjectJob::Start starter_;         ///< Empty on an inline session.
  std::shared_ptr<actors::ObjectHost> host_; ///< Set on an inline session only.
  actors::Reply<std::exception_ptr> started_;
  mutable std::mutex mutex_;
  int starts_ = 0, ups_ = 0;
  std::exception_ptr problem_;
  std::shared_ptr<actors::ProcessNews> news_;
  std::vector<std::function<void()>> hooks_;
};

/// Returns whether a child with these options shares a job with others.
bool shares_a_job(const SpawnOptions& options);

} // namespace fiber::detail
