// SPDX-License-Identifier: Apache-2.0
#include "actors/driver/arrivals.hpp"

#include <utility>

#include "actors/core/borrowed_thread.hpp"

namespace fiber::actors {

void Arrivals::expect(std::uint64_t incarnation, caf::actor who) {
  std::lock_guard lock(mutex_);
  expected_[incarnation] = std::move(who);
}

void Arrivals::forget(std::uint64_t incarnation) {
  std::lock_guard lock(mutex_);
  expected_.erase(incarnation);
}

void Arrivals::arrived(caf::actor_system& system, std::uint64_t incarnation,
                       std::shared_ptr<wire::Link> link) {
  caf::actor who;
  {
    std::lock_guard lock(mutex_);
    if (auto entry = expected_.find(incarnation); entry != expected_.end()) {
      who = entry->second;
      expected_.erase(entry);
    }
  }
  if (who)
    send_on_this_thread(system, who, LinkArrived{std::move(link)});
  else
    link->close();
}

} // namespace fiber::actors
