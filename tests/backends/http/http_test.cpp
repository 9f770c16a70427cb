// SPDX-License-Identifier: Apache-2.0
// The promise: each request gets one reply or one error, whatever the server does, and
// the client never blocks.
#include "backends/http/client.hpp"

#include <dlfcn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "backends/engine/loop.hpp"
#include "base/unique_fd.hpp"
#include "tests/backends/http/http_server.hpp"

namespace fiber::backends::http {

namespace {

using namespace std::chrono_literals;

/// Records the callbacks of a stream.
struct Heard {
  std::mutex mutex;
  std::condition_variable changed;
  int status = 0;
  std::string body;
  std::optional<Reply> reply;
  bool room = true;
  std::size_t asked_again = 0;

  StreamHandler handler() {
    return {.head =
              [this](int told) {
                std::lock_guard lock(mutex);
                status = told;
                changed.notify_all();
              },
            .data =
              [this](std::string_view piece) {
                std::lock_guard lock(mutex);
                body += piece;
                asked_again += piece.empty() ? 1 : 0;
                changed.notify_all();
                return room;
              }};
  }
  Client::Done done() {
    return [this](Reply told) {
      std::lock_guard lock(mutex);
      reply = std::move(told);
      changed.notify_all();
    };
  }
  template <class F>
  bool wait(F condition) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, patience, condition);
  }
};

bool has_libcurl() {
  void* library = ::dlopen("libcurl.so.4", RTLD_LAZY | RTLD_NOLOAD);
  return library && ::dlclose(library) == 0;
}

const bool libcurl_came_with_the_program = has_libcurl();

TEST(HttpClient, loads_libcurl_when_the_first_client_is_made) {
  EXPECT_FALSE(libcurl_came_with_the_program);
  Loop loop;
  Client client(loop, Endpoint{});
  EXPECT_TRUE(has_libcurl());
}

TEST(HttpClient, requests_and_replies_arrive_complete) {
  Loop loop;
  PlainServer web;
  web.server.Put("/a%20b", [](auto& request, auto& reply) {
    reply.status = 418;
    reply.set_header("X-Kind", "tea");
    reply.set_content(request.body + request.get_header_value("X-More"), "text/plain");
  });
  Client client(loop, at(url_of(web.start())));
  auto reply = client.call({.method = "POST", .path = "/echo", .body = "hello"});
  EXPECT_EQ(reply.status, 200);
  EXPECT_TRUE(reply.ok());
  EXPECT_EQ(reply.body, "hello");
  EXPECT_EQ(reply.headers["content-type"], "text/plain");
  EXPECT_EQ(reply.local_address, "127.0.0.1");
  auto large = std::string(5 << 20, 'x');
  auto echo = client.call({.method = "POST",
                           .path = "/echo",
                           .headers = {"Content-Type: text/plain"},
                           .body = large});
  EXPECT_TRUE(echo.body == large) << echo.status << " " << echo.error;
  auto missing = client.call({.path = "/nowhere"});
  EXPECT_EQ(missing.status, 404);
  EXPECT_FALSE(missing.ok());
}

TEST(HttpClient, connections_are_reused) {
  Loop loop;
  PlainServer web;
  Client client(loop, at(url_of(web.start())));
  std::set<std::string> ports;
  for (int i = 0; i < 20; ++i)
    ports.insert(client.call({.path = "/port"}).body);
  EXPECT_EQ(ports.size(), 1u);
}

TEST(HttpClient, this_machine_is_reached_without_the_proxy_of_the_environment) {
  Loop loop;
  PlainServer web, proxy; // The other machine, whose 127.0.0.1 is not ours.
  std::atomic<bool> asked = false;
  proxy.server.set_pre_routing_handler([&](auto&, auto&) {
    asked = true;
    return httplib::Server::HandlerResponse::Unhandled;
  });
  ::setenv("http_proxy", url_of(proxy.start()).c_str(), 1);
  Client client(loop, at(url_of(web.start())));
  EXPECT_EQ(client.call({.path = "/port"}).status, 200);
  EXPECT_FALSE(asked);
  client.set_endpoint(at("http://example.invalid")); // Control: others go by way of it.
  client.call({.path = "/port"});
  EXPECT_TRUE(asked);
  ::unsetenv("http_proxy");
}

TEST(HttpClient, many_requests_run_concurrently) {
  Loop loop;
  PlainServer web;
  std::atomic<int> waiting = 0;
  web.server.Get("/wait", [&](auto&, auto& reply) {
    ++waiting;
    web.gate();
    reply.set_content("done", "text/plain");
  });
  Client client(loop, at(url_of(web.start())));
  constexpr int count = 4; // At most the server's number of threads.
  std::atomic<int> ended = 0;
  loop.post([&] {
    for (int i = 0; i < count; ++i)
      client.send({.path = "/wait"}, [&](Reply reply) { ended += reply.body == "done"; });
  });
  auto end = std::chrono::steady_clock::now() + patience;
  while (waiting < count && std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
  EXPECT_EQ(waiting, count);
  web.open();
  while (ended < count && std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
  EXPECT_EQ(ended, count);
}

TEST(HttpClient, a_request_fails_after_its_limit) {
  Loop loop;
  PlainServer web;
  web.server.Get("/wait", [&](auto&, auto&) { web.gate(); });
  Client client(loop, at(url_of(web.start())));
  auto reply = client.call({.path = "/wait", .limit = 100ms});
  EXPECT_EQ(reply.status, 0);
  EXPECT_NE(reply.error.find("timed out"), std::string::npos) << reply.error;
}

TEST(HttpClient, a_stream_fails_after_too_long_a_silence) {
  Loop loop;
  PlainServer web;
  web.server.Get("/stream", [&](auto&, auto& reply) {
    reply.set_chunked_content_provider("text/plain",
                                       [&](std::size_t offset, httplib::DataSink& sink) {
                                         if (offset == 0)
                                           return sink.write("first", 5);
                                         web.gate();
                                         return false;
                                       });
  });
  Client client(loop, at(url_of(web.start())));
  Heard heard;
  loop.post([&] {
    client.stream({.path = "/stream", .limit = 0ms, .silence_limit = 1s}, heard.handler(),
                  heard.done());
  });
  EXPECT_TRUE(heard.wait([&] { return heard.reply.has_value(); }));
  EXPECT_EQ(heard.body, "first");
  EXPECT_EQ(heard.reply->status, 0);
  EXPECT_FALSE(heard.reply->error.empty());
}

/// A socket with a port of its own, at which nobody listens yet.
struct BoundSocket {
  UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t port = 0;

  BoundSocket() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket.get(), any, size), 0);
    EXPECT_EQ(::getsockname(socket.get(), any, &size), 0);
    port = ntohs(address.sin_port);
  }
};

TEST(HttpClient, a_refused_connection_is_named) {
  Loop loop;
  BoundSocket nobody;
  Client client(loop, at(url_of(nobody.port)));
  auto reply = client.call({.path = "/"});
  EXPECT_EQ(reply.status, 0);
  EXPECT_NE(reply.error.find("127.0.0.1 port " + std::to_string(nobody.port)),
            std::string::npos)
    << reply.error;
  EXPECT_NE(reply.error.find("Connection refused"), std::string::npos) << reply.error;
}

TEST(HttpClient, a_server_that_hangs_up_is_reported) {
  Loop loop;
  BoundSocket listener;
  ASSERT_EQ(::listen(listener.socket.get(), 4), 0);
  std::thread server([&] {
    UniqueFd client(::accept(listener.socket.get(), nullptr, nullptr));
    char byte;
    EXPECT_EQ(::read(client.get(), &byte, 1), 1);
  });
  Client client(loop, at(url_of(listener.port)));
  auto reply = client.call({.path = "/"});
  server.join();
  EXPECT_EQ(reply.status, 0);
  EXPECT_FALSE(reply.error.empty());
}

/// Returns 300 pieces of 10 kB, each of one letter.
void stream_letters(httplib::Response& reply) {
  reply.set_chunked_content_provider(
    "text/plain", [sent = 0](std::size_t, httplib::DataSink& sink) mutable {
      if (sent == 300) {
        sink.done();
        return true;
      }
      std::string piece(10000, static_cast<char>('a' + sent++ % 26));
      return sink.write(piece.data(), piece.size());
    });
}

std::string letters() {
  std::string all;
  for (int i = 0; i < 300; ++i)
    all += std::string(10000, static_cast<char>('a' + i % 26));
  return all;
}

TEST(HttpClient, chunks_are_streamed) {
  Loop loop;
  PlainServer web;
  web.server.Get("/letters", [](auto&, auto& reply) { stream_letters(reply); });
  Client client(loop, at(url_of(web.start())));
  Heard heard;
  loop.post([&] { client.stream({.path = "/letters"}, heard.handler(), heard.done()); });
  EXPECT_TRUE(heard.wait([&] { return heard.reply.has_value(); }));
  EXPECT_EQ(heard.status, 200);
  EXPECT_TRUE(heard.body == letters());
  EXPECT_EQ(heard.reply->status, 200);
  EXPECT_EQ(heard.reply->body, "");
  EXPECT_EQ(client.call({.path = "/letters"}).body.size(), letters().size());
}

TEST(HttpClient, a_stream_pauses_while_there_is_no_room) {
  Loop loop;
  PlainServer web;
  web.server.Get("/letters", [](auto&, auto& reply) { stream_letters(reply); });
  Client client(loop, at(url_of(web.start())));
  Heard heard;
  heard.room = false;
  loop.post([&] { client.stream({.path = "/letters"}, heard.handler(), heard.done()); });
  EXPECT_TRUE(heard.wait([&] { return heard.asked_again >= 3; }));
  {
    std::lock_guard lock(heard.mutex);
    EXPECT_LT(heard.body.size(), letters().size());
    EXPECT_FALSE(heard.reply);
    heard.room = true;
  }
  EXPECT_EQ(client.call({.path = "/port"}).status, 200); // Others are not delayed.
  EXPECT_TRUE(heard.wait([&] { return heard.reply.has_value(); }));
  EXPECT_TRUE(heard.body == letters());
}

TEST(HttpClient, done_gets_the_body_of_a_refusal) {
  Loop loop;
  PlainServer web;
  web.server.Get("/no", [](auto&, auto& reply) {
    reply.status = 403;
    reply.set_content("not you", "text/plain");
  });
  Client client(loop, at(url_of(web.start())));
  Heard heard;
  loop.post([&] { client.stream({.path = "/no"}, heard.handler(), heard.done()); });
  EXPECT_TRUE(heard.wait([&] { return heard.reply.has_value(); }));
  EXPECT_EQ(heard.reply->status, 403);
  EXPECT_EQ(heard.reply->body, "not you");
  EXPECT_EQ(heard.body, "");
}

TEST(HttpClient, a_cancelled_request_calls_nothing_back) {
  Loop loop;
  PlainServer web;
  web.server.Get("/wait", [&](auto&, auto&) { web.gate(); });
  Client client(loop, at(url_of(web.start())));
  std::atomic<bool> told = false;
  std::promise<void> cancelled;
  loop.post([&] {
    auto id = client.send({.path = "/wait"}, [&](Reply) { told = true; });
    auto other = client.send({.path = "/port"}, [&](Reply) { told = true; });
    client.cancel(other); // Before its start.
    client.cancel(4711);
    loop.after(100ms, [&, id] {
      client.cancel(id);
      client.cancel(id);
      cancelled.set_value();
    });
  });
  cancelled.get_future().wait();
  web.open();
  EXPECT_EQ(client.call({.path = "/port"}).status, 200);
  EXPECT_FALSE(told);
}

TEST(HttpClient, the_client_can_be_closed_while_requests_run) {
  Loop loop;
  PlainServer web;
  std::atomic<int> waiting = 0;
  web.server.Get("/wait", [&](auto&, auto&) {
    ++waiting;
    web.gate();
  });
  std::atomic<bool> told = false;
  {
    Client client(loop, at(url_of(web.start())));
    loop.post([&] {
      client.send({.path = "/wait"}, [&](Reply) { told = true; });
      client.stream({.path = "/wait"}, {.data = [&](auto) { return told = true; }},
                    [&](Reply) { told = true; });
      client.upgrade({.path = "/wait"}, {.data = [&](auto) { return told = true; }},
                     [&](Reply) { told = true; });
    });
    auto end = std::chrono::steady_clock::now() + patience;
    while (waiting < 2 && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
    client.close();
    client.close();
  }
  web.open();
  EXPECT_FALSE(told);
}

TEST(HttpClient, the_endpoint_can_be_replaced) {
  Loop loop;
  PlainServer one, two;
  one.server.Get("/who",
                 [](auto&, auto& reply) { reply.set_content("one", "text/plain"); });
  two.server.Get("/who",
                 [](auto&, auto& reply) { reply.set_content("two", "text/plain"); });
  Client client(loop, at(url_of(one.start())));
  EXPECT_EQ(client.call({.path = "/who"}).body, "one");
  std::promise<void> changed;
  loop.post([&, port = two.start()] {
    client.set_endpoint(at(url_of(port)));
    changed.set_value();
  });
  changed.get_future().wait();
  EXPECT_EQ(client.call({.path = "/who"}).body, "two");
}

TEST(HttpClient, reserved_characters_of_a_path_are_escaped) {
  EXPECT_EQ(escape("a/b c{\"x\":1}~-._"), "a%2Fb%20c%7B%22x%22%3A1%7D~-._");
}

} // namespace

} // namespace fiber::backends::http
