// SPDX-License-Identifier: Apache-2.0
#include "cli/kubernetes/client.hpp"

#include <utility>

#include "backends/kubernetes/reply_json.hpp"
#include "fiber/error.hpp"
#include "libfiber/session/settings.hpp"

namespace fiber::cli::kubernetes {

using backends::http::Reply;
using nlohmann::json;

backends::kubernetes::Access configured_access() {
  auto values = resolve({}).backend_values;
  return backends::kubernetes::chosen_access(
    {.context = values["kubernetes_context"],
     .name_space = values["kubernetes_namespace"],
     .allow = values["kubernetes_allow"]});
}

Client::Client(backends::kubernetes::Access access) : api_(loop_, std::move(access)) {}

Client::~Client() {
  api_.close();
  loop_.stop();
}

Reply Client::ask(const std::string& method, const std::string& path,
                  std::chrono::milliseconds patience) {
  return api_.call({.method = method, .path = path}, patience);
}

Reply Client::ask(const std::string& method, const std::string& path, const json& body) {
  return api_.call(backends::kubernetes::json_request(method, path, body));
}

json Client::json_of(const Reply& reply, const std::string& what) {
  if (!reply.ok())
    throw Error(what + ": " + backends::kubernetes::problem(reply));
  return backends::kubernetes::parse_reply(reply.body);
}

} // namespace fiber::cli::kubernetes
