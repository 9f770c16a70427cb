// SPDX-License-Identifier: Apache-2.0
#include "backends/local/descriptor_limit.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>

#include "base/log.hpp"
#include "base/unique_fd.hpp"

namespace fiber::backends::local {

namespace {

// Generous, because jobs being created hold more descriptors for a while.
constexpr std::uint64_t each_job = 6, reserve = 64;

rlimit current() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit;
}

/// Returns the number of the next descriptor, about the number of open ones.
std::uint64_t open_now(std::uint64_t limit) {
  UniqueFd next(::open("/", O_PATH | O_CLOEXEC));
  return next ? static_cast<std::uint64_t>(next.get()) : limit;
}

} // namespace

DescriptorLimit::DescriptorLimit() : usual_(current().rlim_cur) {}

DescriptorLimit::~DescriptorLimit() {
  if (raised_to_ != 0 && current().rlim_cur == raised_to_)
    set_soft_limit(usual_);
}

void DescriptorLimit::make_room(std::size_t jobs) {
  auto limit = current();
  if (limit.rlim_cur >= limit.rlim_max ||
      open_now(limit.rlim_cur) + each_job * jobs + reserve <= limit.rlim_cur)
    return;
  log().debug("local: raising the limit of open files from {} to {}", limit.rlim_cur,
              limit.rlim_max);
  set_soft_limit(limit.rlim_max);
  raised_to_ = limit.rlim_max;
}

void set_soft_limit(std::uint64_t descriptors) {
  auto limit = current();
  limit.rlim_cur = std::min<rlim_t>(descriptors, limit.rlim_max);
  if (descriptors != 0)
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

} // namespace fiber::backends::local
