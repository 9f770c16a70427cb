// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <caf/all.hpp>

#include <fiber/pool_stats.hpp>

#include "actors/driver/node_link_actor.hpp"
#include "actors/pool/pool_actor.hpp"
#include "backends/backend.hpp"
#include "fiber/detail/caf/scheduler.hpp"
#include "wire/listener.hpp"
#include "wire/reactor.hpp"

namespace fiber::e2e {

/// The local backend, but that terminate() does nothing until it is released.
class Withholding final : public backends::Backend {
public:
  Withholding();
  std::string name() const override { return "withholding"; }
  void watch(Watcher watcher) override { local_->watch(std::move(watcher)); }
  backends::Job create(backends::JobSpec spec) override {
    return local_->create(std::move(spec));
  }
  std::string logs(const backends::JobId& job) override { return local_->logs(job); }
  void forget(const backends::JobId& job) override { local_->forget(job); }
  std::vector<backends::JobId> list() override { return local_->list(); }

  void terminate(const backends::JobId& job, std::chrono::milliseconds grace) override {
    std::lock_guard lock(mutex_);
    if (released_)
      local_->terminate(job, grace);
    else
      withheld_.push_back(job);
  }
  /// Ends at once whom it should have ended, and withholds nothing from now on.
  void release() {
    std::lock_guard lock(mutex_);
    released_ = true;
    for (auto& job : withheld_)
      local_->terminate(job, std::chrono::milliseconds(0));
  }
  std::size_t withheld() {
    std::lock_guard lock(mutex_);
    return withheld_.size();
  }

private:
  std::unique_ptr<backends::Backend> local_;
  std::mutex mutex_;
  std::vector<backends::JobId> withheld_;
  bool released_ = false;
};

/// Every result of a call, and how often it came.
class Ledger final : public actors::ResultSink {
public:
  void deliver(std::vector<actors::Completion> completions) override;
  std::multimap<std::size_t, std::size_t> results();

private:
  std::mutex mutex_;
  std::multimap<std::size_t, std::size_t> results_;
};

/// What the Ledger of that many tasks `f` must hold.
std::multimap<std::size_t, std::size_t> each_once(std::size_t tasks);

/// What a Session with a pool of two workers is made of, around a backend that nobody can
/// make end a worker which was declared dead.
class PoolWorld {
public:
  /// With the numeric `address` its workers dial it, by TLS.
  explicit PoolWorld(std::chrono::milliseconds heartbeat_timeout,
                     const std::string& address = "");
  ~PoolWorld();
  PoolWorld(const PoolWorld&) = delete;
  PoolWorld& operator=(const PoolWorld&) = delete;

  std::shared_ptr<Ledger> submit(std::size_t (*task)(std::size_t), std::size_t tasks);
  PoolStats stats();

  const std::shared_ptr<Withholding> backend = std::make_shared<Withholding>();

private:
  struct Settings : caf::actor_system_config {
    Settings() {
      detail::set_scheduler(*this, "sharing");
      detail::set_scheduler_threads(*this, 1);
    }
  };
  void listen(actors::NodeServices& services, const std::string& address);

  Settings settings_;
  caf::actor_system system_{settings_};
  wire::Reactor reactor_;
  wire::SessionCa ca_;
  std::unique_ptr<wire::Listener> listener_;
  caf::actor backend_actor_;
  caf::actor pool_;
  std::uint64_t calls_ = 0;
};

} // namespace fiber::e2e
