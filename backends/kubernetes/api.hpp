// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "backends/http/client.hpp"
#include "backends/kubernetes/credentials.hpp"

namespace fiber::backends::kubernetes {

/// The API server, spoken to as whom the credentials say. A request that is refused with
/// 401 is tried once more, with what the credentials then have.
///
/// Thread safety: as http::Client.
class Api {
public:
  using Done = http::Client::Done;

  Api(Loop& loop, Access access);
  ~Api();

  const std::string& name_space() const { return name_space_; }
  /// "https://10.0.0.1:6443 (in-cluster service account)"
  const std::string& description() const { return description_; }
  /// "/api/v1/namespaces/NS/pods/NAME" and the like; `name` may be empty.
  std::string path(const std::string& kind, const std::string& name = {}) const;

  void send(http::Request request, Done done);
  void stream(http::Request request, http::StreamHandler handler, Done done);
  /// send() for another thread, tried again for `patience` while the server is in
  /// trouble.
  http::Reply call(http::Request request,
                   std::chrono::milliseconds patience = std::chrono::seconds(20));
  /// Drops what is under way.
  void close();

private:
  struct Order;
  void begin(const std::shared_ptr<Order>& order);

  Loop& loop_;
  std::string name_space_, description_;
  http::Client client_;
  Credentials credentials_;
  std::shared_ptr<const http::Endpoint> endpoint_;
};

/// A request with a body of JSON.
http::Request json_request(std::string method, std::string path,
                           const nlohmann::json& body);
/// The server's own words, with what helps: who is missing which right, and where it is
/// granted.
std::string problem(const http::Reply& reply);
/// Worth another try: no reply, 429, 5xx.
bool is_transient(const http::Reply& reply);
/// How long to wait before try `number` (from 0): what the server asks for, else longer
/// each time, with jitter.
std::chrono::milliseconds pause_before(int number, const http::Reply& reply);

} // namespace fiber::backends::kubernetes
