// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/engine/loop.hpp"
#include "backends/kubernetes/access.hpp"

namespace fiber::backends::kubernetes {

/// The credentials of one request.
struct Pass {
  std::vector<std::string>
    headers; ///< "Authorization: Bearer ..", "Impersonate-User: .."
  /// Where to send the request. Differs from the previous pass's object only if a
  /// certificate or the CA has changed; then call Client::set_endpoint.
  std::shared_ptr<const http::Endpoint> endpoint;
  std::uint64_t serial = 0; ///< Grows with each change of the credentials.
  std::string error;        ///< Not empty: why there are no credentials.
};

/// Keeps our credentials for the API server up to date: rereads changed files, and runs
/// an exec plugin when its last answer has expired or was rejected. A plugin may take
/// seconds; only its callers wait for it.
///
/// Thread safety: used on the loop's thread only. May be created on any thread; destroyed
/// on the loop's thread or when the loop has stopped.
class Credentials {
public:
  using Done = std::function<void(const Pass&)>;

  /// `plugin_limit` is the longest time that a plugin may run.
  Credentials(Loop& loop, Access access,
              std::chrono::milliseconds plugin_limit = std::chrono::seconds(60));
  /// Kills a running plugin; waiting calls are dropped.
  ~Credentials();
  Credentials(const Credentials&) = delete;
  Credentials& operator=(const Credentials&) = delete;

  /// Calls `done` once: before get() returns if a pass is available, otherwise when the
  /// plugin has answered. Call it for each request.
  void get(Done done);
  /// Reports a 401 for a pass with this serial. Returns whether get() may now yield a
  /// better one: then retry the request once.
  bool refused(std::uint64_t serial);

private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

} // namespace fiber::backends::kubernetes
