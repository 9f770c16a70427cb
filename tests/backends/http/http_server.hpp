// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <httplib.h>

#include "backends/http/client.hpp"

namespace fiber::backends::http {

inline constexpr std::chrono::seconds patience{30};

/// A server on loopback.
template <class Server>
class Serving {
public:
  template <class... Args>
  explicit Serving(Args&&... args) : server(std::forward<Args>(args)...) {
    server.set_tcp_nodelay(true);
    server.set_keep_alive_max_count(1000);
    server.Get("/port", [](const httplib::Request& request, httplib::Response& reply) {
      reply.set_content(std::to_string(request.remote_port), "text/plain");
    });
    server.Post("/echo", [](const httplib::Request& request, httplib::Response& reply) {
      reply.set_content(request.body, "text/plain");
    });
  }
  ~Serving() {
    open();
    if (!thread_.joinable())
      return;
    while (!server.is_running())
      std::this_thread::yield();
    server.stop();
    thread_.join();
  }
  int start() {
    port_ = server.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server.listen_after_bind(); });
    return port_;
  }
  /// Blocks a handler until open().
  void gate() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [this] { return open_; });
  }
  void open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

  Server server;

private:
  int port_ = 0;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

using PlainServer = Serving<httplib::Server>;

inline std::string url_of(int port, const std::string& scheme = "http") {
  return scheme + "://127.0.0.1:" + std::to_string(port);
}

inline Endpoint at(std::string url) {
  Endpoint endpoint;
  endpoint.url = std::move(url);
  return endpoint;
}

} // namespace fiber::backends::http
