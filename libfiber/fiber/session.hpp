// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "fiber/config.hpp"

namespace fiber {

namespace detail {
class Runtime;
}

/// The program's use of Fiber, from init() to the end of this object. It owns every job.
class Session {
public:
  explicit Session(std::shared_ptr<detail::Runtime> runtime);
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  /// Ends every job it started and waits until they are gone. What outlives it (a static
  /// Pool, a Future of a task that had not ended) throws Closed when used.
  ~Session();

private:
  std::shared_ptr<detail::Runtime> runtime_;
};

/// Begins the session. Call it first in main: jobs run the same program, and in a job
/// this call becomes the node and never returns. Before it no thread should be started,
/// else each local job costs a program start instead of a fork.
///
/// Throws ConfigError on a setting that can't be used, BackendError if the backend's
/// engine can't be reached or refuses, Error while another Session lives.
[[nodiscard]] Session init(int& argc, char**& argv, Config overrides = {});

/// Cores that this process may use: what affinity and the control group's quota allow, at
/// least 1.
std::size_t cpu_count();

} // namespace fiber
