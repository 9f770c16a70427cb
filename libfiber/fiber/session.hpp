// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "fiber/config.hpp"

namespace fiber {

namespace detail {
class Runtime;
}

/// A program's use of Fiber, from init() to the end of this object. It owns every job.
/// Keep it in main for as long as pools, futures and handles are used.
///
/// Thread safety: one thread at a time.
class Session {
public:
  /// For Fiber's use: see init().
  explicit Session(std::shared_ptr<detail::Runtime> runtime);
  /// Assigning to a Session first ends it, as ~Session() does.
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  /// Ends every job of the session and blocks until they are gone; waits for each Process
  /// that is no daemon. What outlives the session (a static Pool, a Future of a task that
  /// had not ended) throws Closed when it is used.
  ~Session();

private:
  std::shared_ptr<detail::Runtime> runtime_;
};

/// Begins the session. Call it first in main: jobs run the same program, and in a job
/// this call runs the job and never returns. Start no thread before it, else each local
/// job costs a program start instead of a fork. `overrides` take precedence over all
/// other settings: see Config.
///
/// init() also sets malloc's trim threshold to 256 MiB, so that malloc reuses freed
/// memory for later messages instead of returning it to the system. A threshold that the
/// program or its environment has set stays.
///
/// Throws ConfigError for a setting that can't be used, BackendError if the backend's
/// engine can't be reached or refuses, Error while another Session lives.
[[nodiscard]] Session init(int& argc, char**& argv, Config overrides = {});

/// The cores that this process may use, at least 1: by its affinity, the quota of its
/// control group and, in a job, Resources::cpu of the job, rounded up.
std::size_t cpu_count();

} // namespace fiber
