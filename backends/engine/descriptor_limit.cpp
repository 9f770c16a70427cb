// SPDX-License-Identifier: Apache-2.0
#include "backends/engine/descriptor_limit.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

#include "backends/engine/errors.hpp"
#include "base/log.hpp"
#include "base/unique_fd.hpp"

namespace fiber::backends {

namespace {

// Generous, because jobs being created hold more descriptors for a while.
constexpr std::uint64_t each_starting_job = 6, usual_reserve = 64;

/// Returns the descriptors that are left to the program and to the backend itself.
std::uint64_t reserve(std::uint64_t limit) {
  constexpr std::uint64_t part = 8, least = 8;
  return std::clamp(limit / part, least, usual_reserve);
}

rlimit current() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit;
}

/// Returns the number of the next descriptor, about the number of open ones.
std::uint64_t open_now() {
  UniqueFd next(::open("/", O_PATH | O_CLOEXEC));
  return next ? static_cast<std::uint64_t>(next.get()) : current().rlim_cur;
}

} // namespace

DescriptorLimit::DescriptorLimit(std::size_t each_job)
  : each_job_(each_job), usual_(current().rlim_cur), open_before_(open_now()) {}

DescriptorLimit::~DescriptorLimit() {
  if (raised_to_ != 0 && current().rlim_cur == raised_to_)
    set_soft_limit(usual_);
}

void DescriptorLimit::make_room(std::size_t jobs) {
  auto limit = current();
  auto open = open_now();
  if (jobs == 0) // The session has opened its own since the backend was made.
    open_before_ = open;
  if (limit.rlim_cur < limit.rlim_max &&
      open + each_starting_job * jobs + usual_reserve > limit.rlim_cur) {
    log().debug("raising the limit of open files from {} to {}", limit.rlim_cur,
                limit.rlim_max);
    set_soft_limit(limit.rlim_max);
    raised_to_ = limit.rlim_max;
  }
  // Jobs that have not started take their descriptors later.
  auto needed = std::max(open, open_before_ + each_job_ * jobs) + each_job_;
  if (needed + reserve(limit.rlim_max) > limit.rlim_max)
    throw engine_error("create job", EMFILE);
}

void set_soft_limit(std::uint64_t descriptors) {
  auto limit = current();
  limit.rlim_cur = std::min<rlim_t>(descriptors, limit.rlim_max);
  if (descriptors != 0)
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

} // namespace fiber::backends
