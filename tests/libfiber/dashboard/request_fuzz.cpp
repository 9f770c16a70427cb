// SPDX-License-Identifier: Apache-2.0
// The bytes should be a request to the live page. It is answered, or the connection ends;
// without the token nobody gets more than a refusal.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

#include "libfiber/dashboard/answer.hpp"
#include "libfiber/dashboard/dashboard.hpp"
#include "libfiber/observer/session_view.hpp"
#include "tests/fuzz/target.hpp"

namespace fiber::dashboard {
namespace {

constexpr auto token = "0123456789abcdef";

observer::SessionView& view() {
  static observer::SessionView one(
    {.name = "train",
     .backend = "local",
     .roster = std::make_shared<actors::Roster>(),
     .read_output = [](const std::string&) { return nullptr; },
     .end_job = [](const std::string&) {}});
  return one;
}

void ask(const Request& request, const std::string& whole) {
  Guard guard(token, {"here"});
  const Shows shows{view(), [] { return std::string("{}"); }};
  const auto made = answer(request, "10.0.0.7", false, guard, shows);
  if (!made.text.starts_with("HTTP/1."))
    std::abort();
  const bool admitted = made.text.find(" 200 ") == 8 || made.text.find(" 303 ") == 8;
  if (admitted && whole.find("token") == whole.npos && whole.find(token) == whole.npos &&
      whole.find('%') == whole.npos)
    std::abort();
  ++fuzz::taken;
}

} // namespace
} // namespace fiber::dashboard

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace http = boost::beast::http;
  using fiber::dashboard::Dashboard;
  http::request_parser<http::empty_body> parser;
  parser.header_limit(Dashboard::max_request);
  boost::system::error_code error;
  const std::string whole(fiber::fuzz::text_of(data, size));
  std::size_t at = 0;
  while (!error && !parser.is_done() && at < size)
    at += parser.put(boost::asio::buffer(whole.data() + at, size - at), error);
  if (!error && parser.is_done())
    fiber::dashboard::ask(parser.get(), whole);
  return 0;
}

std::vector<std::string> fiber::fuzz::seeds() {
  const std::string token = dashboard::token;
  const std::string host = "Host: 127.0.0.1:8080\r\n";
  const std::string cookie = "Cookie: a=b; fiber_dashboard=" + token + "; c=d\r\n";
  return {
    "GET / HTTP/1.1\r\n" + host + "\r\n",
    "GET /?token=" + token + " HTTP/1.1\r\n" + host + "\r\n",
    "GET / HTTP/1.1\r\n" + host + cookie + "\r\n",
    "HEAD /page.js HTTP/1.0\r\n" + host + "Authorization: Bearer " + token + "\r\n\r\n",
    "GET /snapshot.json HTTP/1.1\r\n" + host + cookie + "\r\n",
    "GET /output?job=pool1.w0-1&token=%30123456789abcdef HTTP/1.1\r\n" + host + "\r\n",
    "POST / HTTP/1.1\r\n" + host + cookie + "Content-Length: 0\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: elsewhere\r\n\r\n"};
}
