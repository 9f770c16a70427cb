// SPDX-License-Identifier: Apache-2.0
#include "libfiber/dashboard/answer.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>

#include <boost/beast/http/string_body.hpp>
#include <nlohmann/json.hpp>

#include "libfiber/dashboard/page.hpp"
#include "libfiber/observer/session_view.hpp"

namespace fiber::dashboard {
namespace {

namespace http = boost::beast::http;
using nlohmann::json;
using Response = http::response<http::string_body>;

constexpr std::string_view policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string_view view_of(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

std::string_view path_of(const Request& request) {
  auto target = view_of(request.target());
  return target.substr(0, target.find('?'));
}

void set_common(Response& response) {
  response.set(http::field::server, "fiber");
  response.set(http::field::cache_control, "no-store");
  response.set("Content-Security-Policy",
               boost::beast::string_view(policy.data(), policy.size()));
  response.set("X-Content-Type-Options", "nosniff");
  response.set("Referrer-Policy", "no-referrer");
  response.set("Cross-Origin-Resource-Policy", "same-origin");
}

Response reply(const Request& request, http::status status, const char* type,
               std::string body) {
  Response response(status, request.version());
  set_common(response);
  response.set(http::field::content_type, type);
  response.keep_alive(request.keep_alive());
  response.content_length(body.size());
  if (request.method() != http::verb::head)
    response.body() = std::move(body);
  return response;
}

Response refuse(const Request& request, http::status status, const std::string& why) {
  auto made = reply(request, status, "text/plain; charset=utf-8", why + "\n");
  made.keep_alive(false);
  return made;
}

int hex(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

/// Returns the value of `name` in the query of a target; nothing if it is not there.
std::optional<std::string> parameter(std::string_view target, std::string_view name) {
  auto at = target.find('?');
  while (at != target.npos) {
    auto end = target.find('&', at + 1);
    auto part = target.substr(at + 1, end == target.npos ? end : end - at - 1);
    at = end;
    if (!part.starts_with(name) || part.substr(name.size(), 1) != "=")
      continue;
    auto raw = part.substr(name.size() + 1);
    std::string value;
    for (std::size_t i = 0; i < raw.size(); ++i)
      if (raw[i] == '%' && i + 2 < raw.size() && hex(raw[i + 1]) >= 0 &&
          hex(raw[i + 2]) >= 0) {
        value += static_cast<char>(hex(raw[i + 1]) * 16 + hex(raw[i + 2]));
        i += 2;
      } else {
        value += raw[i];
      }
    return value;
  }
  return std::nullopt;
}

/// Returns the value of a cookie; empty if there is none.
std::string cookie_of(const Request& request, const std::string& name) {
  auto cookies = view_of(request[http::field::cookie]);
  while (!cookies.empty()) {
    auto end = std::min(cookies.find(';'), cookies.size());
    auto one = cookies.substr(0, end);
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    if (one.starts_with(name) && one.substr(name.size(), 1) == "=")
      return std::string(one.substr(name.size() + 1));
  }
  return {};
}

Shown shown_by(const Request& request, const Guard& guard) {
  if (auto given = parameter(view_of(request.target()), "token"))
    return {.token = *given, .cookie = {}};
  auto authorization = view_of(request[http::field::authorization]);
  if (constexpr std::string_view bearer = "Bearer "; authorization.starts_with(bearer))
    return {.token = std::string(authorization.substr(bearer.size())), .cookie = {}};
  return {.token = {}, .cookie = cookie_of(request, guard.cookie_name())};
}

std::optional<Response> refusal(const Request& request, const std::string& peer,
                                Guard& guard) {
  if (!guard.serves(view_of(request[http::field::host])))
    return refuse(request, http::status::forbidden,
                  "This page is served for addresses and for names of its machine only, "
                  "not for the Host of this request.");
  switch (guard.judge(peer, shown_by(request, guard), std::chrono::steady_clock::now())) {
  case Guard::Verdict::admitted:
    break;
  case Guard::Verdict::no_token:
  case Guard::Verdict::wrong_token:
    return refuse(request, http::status::unauthorized,
                  "Open the address that the program has logged, which ends with "
                  "?token=TOKEN; `fiber status NAME` prints it as well.");
  case Guard::Verdict::too_many:
    return refuse(request, http::status::too_many_requests,
                  "Too many wrong tokens came from your address. Wait for some seconds.");
  }
  if (request.method() == http::verb::get || request.method() == http::verb::head)
    return std::nullopt;
  auto made = refuse(request, http::status::method_not_allowed,
                     "This page can only be read: GET, HEAD.");
  made.set(http::field::allow, "GET, HEAD");
  return made;
}

Response output(const Request& request, observer::SessionView& view) {
  auto job = parameter(view_of(request.target()), "job");
  if (!job || job->empty())
    return refuse(request, http::status::bad_request,
                  "Which job? /output?job=pool1.w0-1");
  auto text = view.answer({{"op", "logs"}, {"job", *job}});
  auto status = text.contains("error") ? http::status::not_found : http::status::ok;
  return reply(request, status, "application/json",
               text.dump(-1, ' ', false, json::error_handler_t::replace));
}

/// Takes the token out of the address, which browsers remember and show. A cookie stands
/// for it from then on.
Response remember(const Request& request, const Guard& guard, bool secure) {
  auto made = reply(request, http::status::see_other, "text/plain", "");
  auto cookie = guard.cookie_name() + "=" + guard.cookie() +
                "; Path=/; HttpOnly; SameSite=Strict" + (secure ? "; Secure" : "");
  made.set(http::field::set_cookie, cookie);
  made.set(http::field::location, "/");
  return made;
}

Response events_head() {
  Response head(http::status::ok, 11);
  set_common(head);
  head.set(http::field::content_type, "text/event-stream");
  head.set(http::field::connection, "close");
  return head;
}

std::string text_of(const Response& response) {
  std::string text = response.version() == 10 ? "HTTP/1.0 " : "HTTP/1.1 ";
  text +=
    std::to_string(response.result_int()) + " " + std::string(response.reason()) + "\r\n";
  for (auto& field : response)
    text += std::string(field.name_string()) + ": " + std::string(field.value()) + "\r\n";
  return text + "\r\n" + response.body();
}

/// Answers a request that was not refused.
Response resource(const Request& request, bool secure, Guard& guard, const Shows& shows) {
  auto path = path_of(request);
  if (path == "/" && guard.asks() && parameter(view_of(request.target()), "token"))
    return remember(request, guard, secure);
  if (path == "/")
    return reply(request, http::status::ok, "text/html; charset=utf-8",
                 std::string(page_html()));
  if (path == "/page.css")
    return reply(request, http::status::ok, "text/css; charset=utf-8",
                 std::string(page_style()));
  if (path == "/page.js")
    return reply(request, http::status::ok, "text/javascript; charset=utf-8",
                 std::string(page_script()));
  if (path == "/snapshot.json")
    return reply(request, http::status::ok, "application/json", shows.snapshot());
  if (path == "/output")
    return output(request, shows.view);
  return refuse(request, http::status::not_found, "There is no such page.");
}

} // namespace

Answer answer(const Request& request, const std::string& peer, bool secure, Guard& guard,
              const Shows& shows) {
  auto refused = refusal(request, peer, guard);
  auto events =
    !refused && request.method() == http::verb::get && path_of(request) == "/events";
  auto response = refused  ? std::move(*refused)
                  : events ? events_head()
                           : resource(request, secure, guard, shows);
  return {
    .text = text_of(response), .keep_alive = response.keep_alive(), .events = events};
}

} // namespace fiber::dashboard
