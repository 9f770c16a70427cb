// SPDX-License-Identifier: Apache-2.0
// The promise: whoever may look sees the session, live; nobody else sees anything, and
// nobody who looks can disturb it.
#include "libfiber/dashboard/dashboard.hpp"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "libfiber/dashboard/guard.hpp"
#include "libfiber/dashboard/page.hpp"
#include "libfiber/observer/session_view.hpp"
#include "tests/libfiber/dashboard/peer.hpp"

namespace fiber::dashboard {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

constexpr auto token = "0123456789abcdef";

class Page : public testing::Test {
protected:
  void open(const std::string& with_token = {}) {
    page.emplace(DashboardOptions{.host = "127.0.0.1",
                                  .port = 0,
                                  .token = with_token,
                                  .certificate = {},
                                  .key = {}},
                 view);
    auto& url = page->url();
    port = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  }

  /// Says why the options are refused, and checks the setting that is named.
  std::string refusal(const DashboardOptions& options, const std::string& key) {
    try {
      Dashboard made(options, view);
      ADD_FAILURE() << "accepted: " << options.host;
    } catch (const SettingProblem& problem) {
      EXPECT_EQ(problem.key(), key) << problem.what();
      return problem.what();
    }
    return {};
  }

  /// A connection that has just closed may hold its place for a moment, so one refusal
  /// says nothing.
  bool serves_within(std::chrono::seconds patience) const {
    const auto limit = std::chrono::steady_clock::now() + patience;
    do {
      if (get(port, "/").find("200 OK") != std::string::npos)
        return true;
    } while (std::chrono::steady_clock::now() < limit);
    return false;
  }

  std::shared_ptr<actors::Roster> roster = std::make_shared<actors::Roster>();
  observer::SessionView view{
    {.name = "train",
     .backend = "local",
     .roster = roster,
     .read_output =
       [](const std::string&) {
         auto reply = std::make_shared<observer::SessionView::OutputReply>();
         reply->set("line <b>1</b>\n");
         return reply;
       },
     .end_job = [](const std::string& id) { ADD_FAILURE() << id << " was ended"; }}};
  std::optional<Dashboard> page;
  std::uint16_t port = 0;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

/// NAME=VALUE of the cookie that an answer sets.
std::string cookie_in(const std::string& answer) {
  constexpr std::string_view header = "Set-Cookie: ";
  const auto at = answer.find(header);
  if (at == answer.npos)
    return {};
  const auto begin = at + header.size();
  return answer.substr(begin, answer.find_first_of(";\r", begin) - begin);
}

TEST_F(Page, is_served_with_a_policy_that_admits_nothing_from_elsewhere) {
  open();
  auto html = get(port, "/");
  EXPECT_TRUE(has(html, "HTTP/1.1 200 OK")) << html;
  EXPECT_TRUE(
    has(html, "Content-Security-Policy: default-src 'none'; script-src 'self'"));
  EXPECT_TRUE(has(html, "<title>Fiber</title>"));
  EXPECT_TRUE(has(get(port, "/page.js"), "'use strict'"));
  EXPECT_TRUE(has(get(port, "/page.css"), "prefers-color-scheme: dark"));
  EXPECT_TRUE(has(get(port, "/elsewhere"), "404 Not Found"));
  EXPECT_LE(page_html().size() + page_style().size() + page_script().size(), 300'000u);
}

TEST_F(Page, pushes_pictures_to_all_viewers) {
  roster->keep_stream();
  actors::StreamSpan span;
  span.pool = "pool1";
  span.to = std::chrono::steady_clock::now();
  roster->stream()->add(span);
  view.series().add("return", 2.5);
  open();
  Peer first(port), second(port);
  for (auto* peer : {&first, &second}) {
    EXPECT_TRUE(has(peer->get("/events"), "text/event-stream"));
    auto picture = json::parse(peer->next_picture());
    EXPECT_EQ(picture.at("session").at("name"), "train");
    EXPECT_EQ(picture.at("series").at(0).at("points").at(0).at(1), 2.5);
    EXPECT_EQ(picture.at("stream").at("rows").size(), 1u);
    EXPECT_TRUE(picture.at("whole"));
  }
  // Later pictures have only what is new in the stream.
  roster->stream()->add(span);
  json picture;
  do
    picture = json::parse(first.next_picture());
  while (picture.at("stream").at("rows").empty());
  EXPECT_FALSE(picture.at("whole"));
  EXPECT_EQ(picture.at("stream").at("rows").size(), 1u);
}

TEST_F(Page, says_goodbye_when_the_session_ends) {
  open();
  Peer viewer(port);
  viewer.get("/events");
  EXPECT_FALSE(json::parse(viewer.next_picture()).at("over"));
  page.reset();
  std::string last;
  for (auto text = viewer.next_picture(); !text.empty(); text = viewer.next_picture())
    last = text;
  EXPECT_TRUE(json::parse(last).at("over"));
  EXPECT_TRUE(viewer.closes());
}

TEST_F(Page, can_only_be_read) {
  open();
  for (std::string method : {"POST", "PUT", "DELETE", "OPTIONS"})
    EXPECT_TRUE(has(ask(port, method + " / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
                    "405 Method Not Allowed"))
      << method;
  auto head = ask(port, "HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(has(head, "200 OK"));
  EXPECT_TRUE(has(get(port, "/kill"), "404 Not Found"));
}

TEST_F(Page, gives_the_output_of_a_job_that_lives_or_has_ended) {
  actors::JobEntry job;
  job.node = "pool1.w0";
  job.job = "pool1.w0-1";
  roster->expect(1, job);
  roster->created(1, "id1");
  roster->keep_output("gone", "last words\n");
  open();
  EXPECT_TRUE(has(get(port, "/output?job=pool1.w0-1"), "line <b>1</b>"));
  EXPECT_TRUE(has(get(port, "/output?job=%67one"), "last words"));
  EXPECT_TRUE(has(get(port, "/output?job=nobody"), "404 Not Found"));
  EXPECT_TRUE(has(get(port, "/output"), "400 Bad Request"));
}

TEST_F(Page, refuses_hosts_that_are_not_its_own) {
  open();
  auto host = [&](const std::string& name) {
    return ask(port, "GET / HTTP/1.1\r\nHost: " + name + "\r\n\r\n");
  };
  for (auto* good : {"localhost", "LOCALHOST:9000", "127.0.0.1:80", "[::1]:80"})
    EXPECT_TRUE(has(host(good), "200 OK")) << good;
  for (auto* bad : {"evil.example", "localhost.evil.example:80", "localhost:80@evil", "",
                    "[::1", "127.0.0.1.evil.example"})
    EXPECT_TRUE(has(host(bad), "403 Forbidden")) << bad;
  EXPECT_TRUE(has(ask(port, "GET / HTTP/1.0\r\n\r\n"), "403 Forbidden"));
}

TEST_F(Page, asks_for_the_token_and_keeps_it_in_a_cookie) {
  open(token);
  for (auto* target : {"/", "/events", "/page.js", "/output?job=a", "/snapshot.json"})
    EXPECT_TRUE(has(get(port, target), "401 Unauthorized")) << target;
  auto moved = get(port, std::string("/?token=") + token);
  EXPECT_TRUE(has(moved, "303 See Other")) << moved;
  auto cookie = cookie_in(moved);
  EXPECT_TRUE(cookie.starts_with("fiber_dashboard_" + std::to_string(port) + "="))
    << moved;
  EXPECT_TRUE(has(moved, "; Path=/; HttpOnly; SameSite=Strict")) << moved;
  EXPECT_FALSE(has(moved, "Domain=")) << moved;
  EXPECT_TRUE(
    has(get(port, "/", "Cookie: other=1; " + cookie + "; more=2\r\n"), "200 OK"));
  EXPECT_TRUE(has(get(port, "/", "Cookie: x" + cookie + "\r\n"), "401 Unauthorized"));
  EXPECT_TRUE(has(get(port, "/", std::string("Authorization: Bearer ") + token + "\r\n"),
                  "200 OK"));
}

// Browsers send a cookie to each port of a host: to the pages of other sessions, and to
// the servers of other users.
TEST_F(Page, has_a_cookie_that_is_good_for_this_session_only) {
  open(token);
  const auto cookie = cookie_in(get(port, std::string("/?token=") + token));
  EXPECT_FALSE(has(cookie, token));
  const auto value = cookie.substr(cookie.find('=') + 1);
  EXPECT_TRUE(has(get(port, "/?token=" + value), "401 Unauthorized"));
  EXPECT_TRUE(
    has(get(port, "/", "Authorization: Bearer " + value + "\r\n"), "401 Unauthorized"));
  const auto first = port;
  Dashboard other(
    {.host = "127.0.0.1", .port = 0, .token = token, .certificate = {}, .key = {}}, view);
  const auto second =
    static_cast<std::uint16_t>(std::stoi(other.url().substr(other.url().rfind(':') + 1)));
  const auto others = cookie_in(get(second, std::string("/?token=") + token));
  const auto both = "Cookie: " + cookie + "; " + others + "\r\n";
  for (auto at : {first, second})
    EXPECT_TRUE(has(get(at, "/", both), "200 OK"));
  const auto stolen = others.substr(0, others.find('=') + 1) + value;
  for (int i = 0; i < 3 * static_cast<int>(Guard::max_guesses); ++i)
    EXPECT_TRUE(has(get(second, "/", "Cookie: " + stolen + "\r\n"), "401 Unauthorized"));
  // They were no guesses: the cookie may be of an earlier session at this port.
  EXPECT_TRUE(has(get(second, std::string("/?token=") + token), "303 See Other"));
}

TEST_F(Page, lets_no_page_of_another_origin_read_anything) {
  open();
  for (std::string target :
       {"/", "/page.js", "/page.css", "/snapshot.json", "/output?job=a", "/elsewhere"}) {
    const auto told = get(port, target, "Origin: http://evil.example\r\n");
    EXPECT_FALSE(has(told, "Access-Control-")) << told;
    EXPECT_TRUE(has(told, "Cross-Origin-Resource-Policy: same-origin")) << target;
    EXPECT_TRUE(has(told, "X-Content-Type-Options: nosniff")) << target;
    EXPECT_TRUE(has(told, "frame-ancestors 'none'")) << target;
  }
  Peer viewer(port);
  const auto head = viewer.get("/events", "Origin: http://evil.example\r\n");
  EXPECT_FALSE(has(head, "Access-Control-")) << head;
  EXPECT_TRUE(has(head, "Cross-Origin-Resource-Policy: same-origin")) << head;
  const auto preflight =
    ask(port, "OPTIONS /snapshot.json HTTP/1.1\r\nHost: localhost\r\nOrigin: "
              "http://evil.example\r\nAccess-Control-Request-Method: GET\r\n\r\n");
  EXPECT_FALSE(has(preflight, "Access-Control-")) << preflight;
}

TEST_F(Page, makes_a_snapshot_only_when_one_is_due) {
  open();
  std::set<std::string> seen;
  const auto begin = std::chrono::steady_clock::now();
  constexpr int asked = 200;
  for (int i = 0; i < asked; ++i) {
    view.series().add("return", i); // No two pictures are equal.
    const auto told = get(port, "/snapshot.json");
    seen.insert(told.substr(told.find("\r\n\r\n")));
  }
  const auto passed = std::chrono::steady_clock::now() - begin;
  EXPECT_LE(seen.size(), static_cast<std::size_t>(passed / Dashboard::interval) + 1);
}

TEST_F(Page, limits_the_rate_of_guesses) {
  open(token);
  for (int i = 0; i < static_cast<int>(Guard::max_guesses); ++i)
    EXPECT_TRUE(has(get(port, "/?token=wrong"), "401 Unauthorized")) << i;
  EXPECT_TRUE(has(get(port, "/?token=wrong"), "429 Too Many Requests"));
  EXPECT_TRUE(has(get(port, std::string("/?token=") + token), "429 Too Many Requests"));
}

TEST_F(Page, is_for_others_only_with_a_token_and_tls) {
  auto why =
    refusal({.host = "0.0.0.0", .port = 0, .token = {}, .certificate = {}, .key = {}},
            "dashboard_token");
  EXPECT_TRUE(has(why, "others than this machine could look")) << why;
  refusal({.host = "0.0.0.0", .port = 0, .token = token, .certificate = {}, .key = {}},
          "dashboard_certificate");
  refusal(
    {.host = "127.0.0.1", .port = 0, .token = {}, .certificate = "a.pem", .key = {}},
    "dashboard_key");
  why = refusal({.host = "127.0.0.1",
                 .port = 0,
                 .token = {},
                 .certificate = "/nowhere/a.pem",
                 .key = "/nowhere/b.pem"},
                "dashboard_certificate");
  EXPECT_TRUE(has(why, "/nowhere/a.pem")) << why;
}

TEST_F(Page, says_which_address_it_cannot_have) {
  open();
  auto at = [&](const std::string& host, std::uint16_t number) {
    return refusal(
      {.host = host, .port = number, .token = {}, .certificate = {}, .key = {}},
      "dashboard");
  };
  EXPECT_TRUE(has(at("127.0.0.1", port), "Address already in use"));
  EXPECT_TRUE(has(at("192.0.2.1", 1), "Cannot assign requested address"));
  EXPECT_TRUE(has(at("no host", 1), "'no host:1'"));
}

TEST_F(Page, goes_on_while_a_viewer_reads_nothing) {
  roster->keep_stream();
  for (int i = 0; i < 3000; ++i) { // More than the buffers of a connection hold.
    actors::StreamSpan span;
    span.pool = std::string(500, 'p');
    span.outcome = actors::StreamSpan::Outcome::failed;
    roster->stream()->add(span);
  }
  open();
  Peer stalled(port, 4096), viewer(port);
  stalled.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  viewer.get("/events");
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(json::parse(viewer.next_picture()).at("session").at("name"), "train");
  EXPECT_TRUE(has(get(port, "/"), "200 OK"));
}

TEST_F(Page, drops_viewers_that_read_nothing) {
  roster->keep_stream();
  for (int i = 0; i < 3000; ++i) { // More than the buffers of a connection hold.
    actors::StreamSpan span;
    span.pool = std::string(500, 'p');
    span.outcome = actors::StreamSpan::Outcome::failed;
    roster->stream()->add(span);
  }
  open();
  std::vector<std::unique_ptr<Peer>> stalled; // They take all places.
  for (int i = 0; i < Dashboard::max_connections; ++i) {
    stalled.push_back(std::make_unique<Peer>(port, 4096));
    stalled.back()->send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  EXPECT_TRUE(Peer(port).closes());
  EXPECT_TRUE(serves_within(60s));
}

TEST_F(Page, serves_a_limited_number_of_connections) {
  open();
  std::vector<std::unique_ptr<Peer>> peers;
  for (int i = 0; i < Dashboard::max_connections; ++i) {
    peers.push_back(std::make_unique<Peer>(port));
    EXPECT_TRUE(has(peers.back()->get("/"), "200 OK"));
  }
  EXPECT_TRUE(Peer(port).closes());
  EXPECT_TRUE(has(peers.front()->get("/"), "200 OK"));
  peers.clear();
  EXPECT_TRUE(serves_within(30s));
}

TEST_F(Page, outlives_what_is_no_request_and_ten_thousand_that_are) {
  open();
  EXPECT_TRUE([&] {
    Peer peer(port);
    peer.send("GET / HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(20'000, 'x'));
    return peer.closes();
  }());
  EXPECT_TRUE([&] {
    Peer peer(port);
    peer.send("\x16\x03\x01 no HTTP\r\n\r\n");
    return peer.closes();
  }());
  Peer peer(port);
  int good = 0;
  for (int i = 0; i < 10'000; ++i) {
    peer.send("HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    good += has(peer.read_until("\r\n\r\n"), "200 OK") ? 1 : 0;
  }
  EXPECT_EQ(good, 10'000);
}

TEST_F(Page, as_a_file_holds_what_workers_say_as_data) {
  roster->task_failed("pool1", 3, "</script><script>alert(1)</script><!--");
  roster->keep_output("pool1.w0-1", "\xff\xfe </script>");
  auto file = report_page(view.report(10ms));
  auto data = file.substr(file.find("id=\"report\">") + 12);
  data.resize(data.find("</script>"));
  auto report = json::parse(data); // To its end: nothing in it closed the element.
  EXPECT_EQ(report.at("failures").at(0).at("why"),
            "</script><script>alert(1)</script><!--");
  EXPECT_EQ(report.at("outputs").size(), 1u);
  EXPECT_FALSE(has(file, "src=\"page.js\""));
  EXPECT_TRUE(has(file, "script-src 'sha256-"));
}

} // namespace
} // namespace fiber::dashboard
