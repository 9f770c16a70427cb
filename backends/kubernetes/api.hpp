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

/// A client of the API server with our credentials. Retries a request once after a 401,
/// with the credentials refreshed.
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
  /// Returns a path such as "/api/v1/namespaces/NS/pods/NAME"; `name` may be empty.
  std::string path(const std::string& kind, const std::string& name = {}) const;

  void send(http::Request request, Done done);
  void stream(http::Request request, http::StreamHandler handler, Done done);
  using Made = std::function<void(std::shared_ptr<http::Client::Upgrade>)>;
  /// As http::Client's, but `made` gets the connection before the server has agreed;
  /// after a 401 it gets another one.
  void upgrade(http::Request request, http::StreamHandler handler, Done done, Made made);
  /// Sends a request from another thread and waits for the reply. Retries for `patience`
  /// after transient errors.
  http::Reply call(http::Request request,
                   std::chrono::milliseconds patience = std::chrono::seconds(20));
  /// Drops running requests.
  void close();

private:
  struct Call;
  void begin(const std::shared_ptr<Call>& call);

  Loop& loop_;
  std::string name_space_, description_;
  http::Client client_;
  Credentials credentials_;
  std::shared_ptr<const http::Endpoint> endpoint_;
};

/// Makes a request with a JSON body.
http::Request json_request(std::string method, std::string path,
                           const nlohmann::json& body);
/// Returns the server's error message, with advice, such as which file grants a missing
/// right.
std::string problem(const http::Reply& reply);
/// Returns whether to retry: no reply, 429, 5xx.
bool is_transient(const http::Reply& reply);
/// Returns the pause before retry `number` (from 0): what the server asks for, or an
/// exponential backoff, with jitter.
std::chrono::milliseconds pause_before(int number, const http::Reply& reply);

} // namespace fiber::backends::kubernetes
