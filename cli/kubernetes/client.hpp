// SPDX-License-Identifier: Apache-2.0
// kubernetes/ starts drivers as pods, checks a cluster and copies to volumes.
#pragma once

#include <chrono>
#include <string>

#include <nlohmann/json.hpp>

#include "backends/engine/loop.hpp"
#include "backends/kubernetes/api.hpp"

namespace fiber::cli::kubernetes {

constexpr int not_found = 404; ///< The status of a reply.

/// Returns the access to the cluster that the settings choose. Throws
/// backends::SettingError.
backends::kubernetes::Access configured_access();

/// A connection to an API server.
class Client {
public:
  explicit Client(backends::kubernetes::Access access);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Asks and waits. Returns the reply whatever its status.
  backends::http::Reply
  ask(const std::string& method, const std::string& path,
      std::chrono::milliseconds patience = std::chrono::seconds(20));
  backends::http::Reply ask(const std::string& method, const std::string& path,
                            const nlohmann::json& body);
  /// Returns the JSON of a reply of 2xx. Throws Error that says what was being done.
  static nlohmann::json json_of(const backends::http::Reply& reply,
                                const std::string& what);

  backends::kubernetes::Api& api() { return api_; }
  const backends::kubernetes::Api& api() const { return api_; }
  backends::Loop& loop() { return loop_; }

private:
  backends::Loop loop_;
  backends::kubernetes::Api api_;
};

} // namespace fiber::cli::kubernetes
