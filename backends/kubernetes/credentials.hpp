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

/// What lets one request in.
struct Pass {
  std::vector<std::string>
    headers; ///< "Authorization: Bearer ..", "Impersonate-User: .."
  /// Where to. Another object than in the pass before only if a certificate or the CA has
  /// changed: then it is one for Client::set_endpoint.
  std::shared_ptr<const http::Endpoint> endpoint;
  std::uint64_t serial = 0; ///< Grows with what is shown.
  std::string error;        ///< Not empty: there is nothing to show, for this reason.
};

/// Keeps what we show to the API server: reads files again when others replace them, asks
/// an exec plugin when its last answer has expired or was refused. A plugin may take
/// seconds; nothing waits for it but those who asked.
///
/// Thread safety: on the loop's thread only; made and destroyed on any, but destroyed
/// there or when the loop has stopped.
class Credentials {
public:
  using Done = std::function<void(const Pass&)>;

  /// `plugin_limit`: how long a plugin may run.
  Credentials(Loop& loop, Access access,
              std::chrono::milliseconds plugin_limit = std::chrono::seconds(60));
  /// Kills a plugin that runs; who waits for it hears nothing.
  ~Credentials();
  Credentials(const Credentials&) = delete;
  Credentials& operator=(const Credentials&) = delete;

  /// Calls `done` once: before get() returns if a pass is at hand, else when the plugin
  /// has answered. Ask anew for each request.
  void get(Done done);
  /// The server said 401 to a request with a pass of this serial. Returns whether get()
  /// may now give a better one: then try the request again, once.
  bool refused(std::uint64_t serial);

private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

} // namespace fiber::backends::kubernetes
