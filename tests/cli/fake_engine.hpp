// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <httplib.h>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"

namespace fiber::cli {

/// A container engine that agrees to everything and runs nothing.
class FakeEngine {
public:
  FakeEngine() {
    server_.Get(".*", [this](const httplib::Request& request, httplib::Response& reply) {
      if (request.path.ends_with("/archive"))
        reply.set_content(archive, "application/x-tar");
      else
        reply.set_content(about.dump(), "application/json");
    });
    server_.Post(".*", [this](const httplib::Request& request, httplib::Response& reply) {
      std::lock_guard lock(mutex_);
      if (request.path.ends_with("/containers/create"))
        created_.push_back(nlohmann::json::parse(request.body));
      reply.set_content(R"({"Id": "helper"})", "application/json");
    });
    server_.Delete(".*", [](const httplib::Request&, httplib::Response& reply) {
      reply.status = 204;
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
  }
  ~FakeEngine() {
    while (!server_.is_running())
      std::this_thread::yield();
    server_.stop();
    thread_.join();
  }

  /// What all volumes have, as a tar archive. Set it while nobody asks.
  std::string archive;
  /// The engine's answer to each question about a volume, an image or itself.
  nlohmann::json about{{"ApiVersion", "1.43"}, {"Version", "1"}};

  /// Lets `fiber` use it.
  Variables variables() const {
    return {{"DOCKER_HOST", "tcp://127.0.0.1:" + std::to_string(port_)},
            {"FIBER_DOCKER_ALLOW", "plaintext"}};
  }
  /// The bodies of the requests for containers.
  std::vector<nlohmann::json> created() const {
    std::lock_guard lock(mutex_);
    return created_;
  }

private:
  mutable std::mutex mutex_;
  std::vector<nlohmann::json> created_;
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

} // namespace fiber::cli
