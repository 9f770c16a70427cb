// SPDX-License-Identifier: Apache-2.0
#include "backends/kubernetes/api.hpp"

#include <algorithm>
#include <cstdlib>
#include <future>
#include <thread>
#include <utility>

#include "backends/engine/retry_pause.hpp"
#include "backends/kubernetes/reply_json.hpp"
#include "backends/kubernetes/security.hpp"
#include "base/log.hpp"

namespace fiber::backends::kubernetes {

namespace {

using std::chrono::milliseconds;

constexpr int unauthorized = 401;

} // namespace

/// A request, which is repeated once after a 401.
struct Api::Call {
  http::Request request;
  http::StreamHandler handler;
  Done done;
  bool streamed = false, again = false;
  Made made = {}; ///< Set if it is for an upgraded connection.
};

Api::Api(Loop& loop, Access access)
  : loop_(loop), name_space_(access.name_space),
    description_(access.endpoint.url + " (" + access.source + ")"),
    client_(loop, access.endpoint), credentials_(loop, std::move(access)) {}

Api::~Api() = default;

void Api::close() {
  client_.close();
}

std::string Api::path(const std::string& kind, const std::string& name) const {
  auto group = kind == "jobs" ? "/apis/batch/v1" : "/api/v1";
  auto whole = group + std::string("/namespaces/") + name_space_ + "/" + kind;
  return name.empty() ? whole : whole + "/" + name;
}

void Api::begin(const std::shared_ptr<Call>& call) {
  credentials_.get([this, call](const Pass& pass) {
    if (!pass.error.empty())
      return loop_.post([call, error = pass.error] { call->done({.error = error}); });
    if (endpoint_ && endpoint_ != pass.endpoint)
      client_.set_endpoint(*pass.endpoint);
    endpoint_ = pass.endpoint;
    auto request = call->request;
    request.headers.insert(request.headers.end(), pass.headers.begin(),
                           pass.headers.end());
    // The stream of an upgraded connection is no JSON.
    request.headers.emplace_back(call->made ? "Accept: */*" : "Accept: application/json");
    auto done = [this, call, serial = pass.serial](http::Reply reply) {
      if (reply.status == unauthorized && credentials_.refused(serial) &&
          !std::exchange(call->again, true))
        return begin(call);
      call->done(std::move(reply));
    };
    if (call->made)
      call->made(client_.upgrade(request, call->handler, std::move(done)));
    else if (call->streamed)
      client_.stream(std::move(request), call->handler, std::move(done));
    else
      client_.send(std::move(request), std::move(done));
  });
}

void Api::send(http::Request request, Done done) {
  begin(std::make_shared<Call>(
    Call{std::move(request), {}, std::move(done), false, false, {}}));
}

void Api::stream(http::Request request, http::StreamHandler handler, Done done) {
  begin(std::make_shared<Call>(
    Call{std::move(request), std::move(handler), std::move(done), true, false, {}}));
}

void Api::upgrade(http::Request request, http::StreamHandler handler, Done done,
                  Made made) {
  begin(std::make_shared<Call>(Call{std::move(request), std::move(handler),
                                    std::move(done), true, false, std::move(made)}));
}

http::Reply Api::call(http::Request request, milliseconds patience) {
  request.limit = std::min(request.limit, patience);
  auto until = std::chrono::steady_clock::now() + patience;
  for (int tries = 0;; ++tries) {
    std::promise<http::Reply> promise;
    auto future = promise.get_future();
    loop_.post([&] {
      send(request, [&](http::Reply reply) { promise.set_value(std::move(reply)); });
    });
    auto reply = future.get();
    auto pause = pause_before(tries, reply);
    if (!is_transient(reply) || reply.untrusted ||
        std::chrono::steady_clock::now() + pause > until)
      return reply;
    log().debug("kubernetes: {} {}: {}; trying again", request.method, request.path,
                problem(reply));
    std::this_thread::sleep_for(pause);
  }
}

http::Request json_request(std::string method, std::string path,
                           const nlohmann::json& body) {
  return {.method = std::move(method),
          .path = std::move(path),
          .headers = {"Content-Type: application/json"},
          .body = body.dump()};
}

std::string problem(const http::Reply& reply) {
  if (reply.status == 0)
    return reply.error;
  auto told = parse_reply(reply.body);
  auto words = told.is_object() ? text(told, "message") : reply.body.substr(0, 500);
  if (words.empty())
    words = "HTTP status " + std::to_string(reply.status);
  if (reply.status == 403 && words.find("cannot") != words.npos)
    words += "; the Role in deploy/kubernetes/rbac.yaml grants it";
  if (reply.status == 403 && words.find("violates PodSecurity") != words.npos)
    words += " (" + advice(words) + ")";
  if (reply.status == unauthorized)
    words += "; the token or certificate is not valid here";
  return words;
}

bool is_transient(const http::Reply& reply) {
  return reply.status == 0 || reply.status == 429 || reply.status >= 500;
}

milliseconds pause_before(int number, const http::Reply& reply) {
  auto pause = retry_pause(number);
  auto asked = reply.headers.find("retry-after");
  if (asked == reply.headers.end())
    return pause;
  constexpr long max_seconds = 60;
  auto seconds = std::clamp(std::atol(asked->second.c_str()), 0L, max_seconds);
  return std::chrono::seconds(seconds) + pause;
}

} // namespace fiber::backends::kubernetes
