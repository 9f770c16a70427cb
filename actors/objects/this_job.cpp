// SPDX-License-Identifier: Apache-2.0
#include "actors/objects/this_job.hpp"

#include <atomic>
#include <utility>

#include "wire/own_address.hpp"

namespace fiber::actors {
namespace {

std::atomic<const ThisJob*> this_job = nullptr;

} // namespace

std::string ThisJob::own_address() const {
  return address.empty() ? wire::own_address_towards(driver_host) : address;
}

const ThisJob* ThisJob::get() {
  return this_job;
}

void ThisJob::set(ThisJob job) {
  // Never destroyed: static objects may use it, and tasks may run during process exit.
  this_job = new ThisJob(std::move(job)); // NOLINT(cppcoreguidelines-owning-memory)
}

} // namespace fiber::actors
