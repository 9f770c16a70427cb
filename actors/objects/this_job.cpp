// SPDX-License-Identifier: Apache-2.0
#include "actors/objects/this_job.hpp"

#include <atomic>
#include <utility>

namespace fiber::actors {
namespace {

std::atomic<const ThisJob*> this_job = nullptr;

} // namespace

const ThisJob* ThisJob::get() {
  return this_job;
}

void ThisJob::set(ThisJob job) {
  // Never destroyed: static objects may use it, and tasks may run during process exit.
  this_job = new ThisJob(std::move(job)); // NOLINT(cppcoreguidelines-owning-memory)
}

} // namespace fiber::actors
