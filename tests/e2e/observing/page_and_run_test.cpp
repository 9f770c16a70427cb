// SPDX-License-Identifier: Apache-2.0
// The promise: what the page and the report of a driver need stays with the driver, and
// whoever can connect to the page can't disturb the run.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "base/unique_fd.hpp"
#include "tests/e2e/support/modes.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

/// Sets a variable while it lives.
class Variable {
public:
  Variable(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

private:
  const char* name_;
};

bool has_a_setting_of_the_driver(const std::string& text) {
  return text.find("FIBER_DASHBOARD") != text.npos ||
         text.find("FIBER_REPORT") != text.npos;
}

/// What a program sees that a task starts.
std::string environment_of_a_program() {
  std::string text(1 << 20, '\0');
  auto* pipe = ::popen("env", "r");
  text.resize(std::fread(text.data(), 1, text.size(), pipe));
  ::pclose(pipe);
  return text;
}

class PageAndRun : public SessionTest {
protected:
  /// Returns what the driver has logged about its page: its address.
  std::string open_with_page(Config config) {
    config.log_level = "warn";
    testing::internal::CaptureStderr();
    open(config);
    const auto log = testing::internal::GetCapturedStderr();
    const auto at = log.find("dashboard at ");
    EXPECT_NE(at, log.npos) << log;
    const auto begin = at + std::string("dashboard at ").size();
    return log.substr(begin, log.find('\n', begin) - begin);
  }
  static std::uint16_t port_of(const std::string& url) {
    return static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  }
};

TEST_F(PageAndRun, leave_no_setting_of_the_driver_to_its_jobs) {
  const Variable page("FIBER_DASHBOARD", "127.0.0.1:0");
  const Variable token("FIBER_DASHBOARD_TOKEN", "0123456789abcdef");
  const auto report = folder() / "run.html";
  const Variable file("FIBER_REPORT", report.string());
  for (auto& config : std::vector<Config>{
         {.zygote = "auto"}, {.zygote = "never"}, {.link = "tls", .zygote = "auto"}}) {
    open_with_page(config);
    {
      Pool pool(2);
      EXPECT_TRUE(pool.wait_until_workers_up(deadline));
      const auto seen = pool.apply(environment_of_a_program);
      EXPECT_NE(seen.find("PATH="), seen.npos);
      EXPECT_FALSE(has_a_setting_of_the_driver(seen)) << seen;
      std::size_t looked_at = 0;
      for (auto& process : marked(mark())) { // The zygote, too.
        std::ifstream given("/proc/" + std::to_string(process.pid) + "/environ");
        const std::string all{std::istreambuf_iterator<char>(given), {}};
        if (process.pid == ::getpid())
          continue;
        EXPECT_FALSE(has_a_setting_of_the_driver(all)) << process.pid;
        ++looked_at;
      }
      EXPECT_GE(looked_at, 2U);
    }
    close();
    EXPECT_TRUE(std::filesystem::exists(report)); // The driver has them.
  }
}

UniqueFd connect_to(std::uint16_t port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    socket.reset();
  return socket;
}

void say(const UniqueFd& socket, const std::string& text) {
  ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

std::size_t slow_twice(std::size_t i) {
  std::this_thread::sleep_for(2ms);
  return 2 * i;
}

TEST_F(PageAndRun, do_not_hurt_each_other_while_strangers_take_all_connections) {
  const auto url = open_with_page(
    {.heartbeat_timeout = 3s, .dashboard = "127.0.0.1:0", .dashboard_token = "none"});
  const auto port = port_of(url);
  Pool pool(2);
  ASSERT_TRUE(pool.wait_until_workers_up(deadline));
  testing::internal::CaptureStderr();
  auto running = pool.map_async(slow_twice, indices(2000));
  std::vector<UniqueFd> stalled;
  constexpr int places = 64;
  for (int i = 0; i < places; ++i) {
    stalled.push_back(connect_to(port));
    say(stalled.back(), i % 2 == 0 ? "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"
                                   : "GET /snapshot.json HTTP/1.1\r\nHo");
  }
  while (!running.ready()) { // Each is turned away at once.
    auto more = connect_to(port);
    ASSERT_TRUE(more);
    say(more, "GET /kill HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  std::size_t sum = 0;
  for (auto result : running.get())
    sum += result;
  const auto log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(sum, 2000U * 1999U);
  expect_works(pool, 2);
  EXPECT_EQ(pool.stats().workers_lost, 0U);
  EXPECT_LE(std::ranges::count(log, '\n'), 10) << log;
  EXPECT_NE(log.find("the page has 64 connections"), log.npos) << log;
}

TEST_F(PageAndRun, begin_with_a_token_of_their_own) {
  const auto url = open_with_page({.dashboard = "127.0.0.1:0"});
  const auto at = url.find("/?token=");
  ASSERT_NE(at, url.npos) << url;
  const auto token = url.substr(at + 8);
  EXPECT_GE(token.size(), 32U);
  const auto port = port_of(url.substr(0, at));
  auto answer = [&](const std::string& target) {
    auto socket = connect_to(port);
    say(socket, "GET " + target + " HTTP/1.0\r\nHost: localhost\r\n\r\n");
    std::string text;
    char piece[4096];
    for (ssize_t got = 0; (got = ::recv(socket.get(), piece, sizeof piece, 0)) > 0;)
      text.append(piece, static_cast<std::size_t>(got));
    return text;
  };
  EXPECT_NE(answer("/").find("401 Unauthorized"), std::string::npos);
  const auto snapshot = answer("/snapshot.json?token=" + token);
  EXPECT_NE(snapshot.find("200 OK"), std::string::npos);
  EXPECT_EQ(snapshot.find(token), std::string::npos); // It is passed on in reports.
  close();
  const auto next = open_with_page({.dashboard = "127.0.0.1:0"});
  EXPECT_EQ(next.find(token), next.npos);
}

} // namespace
} // namespace fiber::e2e
