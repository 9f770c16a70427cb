// SPDX-License-Identifier: Apache-2.0
#include "fiber/pool.hpp"

#include <utility>

#include "libfiber/pool/feed_target.hpp"
#include "libfiber/pool/pool_core.hpp"

namespace fiber {
namespace {

detail::PoolCore& check(const std::shared_ptr<detail::PoolCore>& core) {
  if (!core)
    throw Closed("this Pool was moved from");
  return *core;
}

} // namespace

Pool::Pool() : Pool(PoolOptions{}) {}
Pool::Pool(std::size_t workers) : Pool(PoolOptions{.workers = workers}) {}
Pool::Pool(PoolOptions options) : core_(detail::PoolCore::make(std::move(options))) {}
Pool::Pool(Pool&&) noexcept = default;

Pool& Pool::operator=(Pool&& other) noexcept {
  if (this != &other) {
    if (core_)
      core_->end();
    core_ = std::move(other.core_);
  }
  return *this;
}

Pool::~Pool() {
  if (core_)
    core_->end();
}

detail::CallFeed Pool::begin(AnyCallable callable, MapOptions options, detail::Keep keep,
                             bool single, const detail::CallName* name) {
  return check(core_).begin(std::move(callable), std::move(options), keep, single, name);
}

bool Pool::wait_workers(detail::Results::Clock::time_point limit) {
  return check(core_).wait_workers(limit);
}

void Pool::start_workers() {
  check(core_).start_workers();
}
void Pool::resize(std::size_t workers) {
  check(core_).resize(workers);
}
void Pool::autoscale(std::size_t min, std::size_t max, std::chrono::milliseconds idle) {
  check(core_).autoscale(min, max, idle);
}
void Pool::close() {
  check(core_).close();
}
void Pool::terminate() {
  check(core_).terminate();
}
void Pool::join() {
  check(core_).join();
}
PoolStats Pool::stats() const {
  return check(core_).stats();
}

} // namespace fiber
