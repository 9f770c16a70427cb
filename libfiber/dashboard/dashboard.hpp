// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "libfiber/dashboard/listen.hpp"
#include "libfiber/dashboard/pace.hpp"

namespace fiber::observer {
class SessionView;
}

namespace fiber::dashboard {

struct DashboardOptions {
  std::string host;
  std::uint16_t port = 0;  ///< 0: any.
  std::string token;       ///< Empty: none is asked for.
  std::string certificate; ///< Paths of files in PEM; empty: no TLS.
  std::string key;
};

/// Serves the page of a session, and pushes to each viewer what it shows, as server-sent
/// events. Nobody can change anything through it.
///
/// One thread does everything, so a viewer never delays the run. All viewers get the same
/// text, which is made once, and only while somebody looks. A peer that stalls is
/// dropped.
class Dashboard {
public:
  static constexpr int max_connections = 64; ///< Further ones are closed at once.
  static constexpr std::chrono::seconds peer_limit{10}; ///< To ask, or to read on.
  static constexpr std::size_t max_request = 8192;      ///< Bytes.
  /// Between two pictures; longer if they are dear.
  static constexpr std::chrono::milliseconds interval = shortest_interval;

  /// Listens. Throws SettingProblem. Others than this machine are served only with a
  /// token and TLS.
  Dashboard(const DashboardOptions& options, observer::SessionView& view);
  /// Sends the viewers a last picture, and drops them.
  ~Dashboard();
  Dashboard(const Dashboard&) = delete;
  Dashboard& operator=(const Dashboard&) = delete;

  /// Returns where the page is, without the token.
  const std::string& url() const;

private:
  class Server;
  std::unique_ptr<Server> server_;
};

} // namespace fiber::dashboard
