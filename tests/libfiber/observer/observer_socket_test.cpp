// SPDX-License-Identifier: Apache-2.0
// Promise: every peer gets its answers, whatever other peers do.
#include "libfiber/observer/observer_socket.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unique_fd.hpp"

namespace fiber::observer {
namespace {

using nlohmann::json;

class Peer {
public:
  explicit Peer(const std::string& path)
    : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    connected_ = ::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address),
                           sizeof address) == 0;
    timeval limit{.tv_sec = 60, .tv_usec = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }

  bool connected() const { return connected_; }
  bool send(const std::string& text) const {
    return ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
  }
  /// Returns the next line, or nothing if the other side has closed.
  std::optional<std::string> line() const {
    std::string text;
    for (char c = 0; ::recv(socket_.get(), &c, 1, 0) == 1; text += c)
      if (c == '\n')
        return text;
    return std::nullopt;
  }
  json ask(const std::string& text) const {
    send(text);
    return json::parse(line().value_or("\"closed\""));
  }

private:
  UniqueFd socket_;
  bool connected_ = false;
};

class Socket : public testing::Test {
protected:
  void SetUp() override {
    char path[] = "/tmp/fiber-socket-XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    root = path;
    open();
  }
  void TearDown() override {
    socket.reset();
    std::filesystem::remove_all(root);
  }
  void open() {
    socket =
      std::make_unique<ObserverSocket>(reactor, root + "/s", [this](const json& request) {
        ++asked;
        auto bytes = request.value("bytes", std::size_t{0});
        return json{{"echo", request}, {"text", std::string(bytes, 'x')}};
      });
  }

  std::string root;
  wire::Reactor reactor;
  std::atomic<int> asked = 0;
  std::unique_ptr<ObserverSocket> socket;
};

TEST_F(Socket, answers_one_request_after_the_other) {
  Peer peer(socket->path());
  EXPECT_EQ(peer.ask("{\"a\":1}\n")["echo"]["a"], 1);
  EXPECT_EQ(peer.ask("{\"a\":2}\n")["echo"]["a"], 2);
  peer.send("{\"a\":3}\n{\"a\":4}\n"); // At once.
  EXPECT_EQ(json::parse(peer.line().value())["echo"]["a"], 3);
  EXPECT_EQ(json::parse(peer.line().value())["echo"]["a"], 4);
}

TEST_F(Socket, file_is_this_users_alone_and_goes_with_the_socket) {
  struct stat status {};
  ASSERT_EQ(::stat(socket->path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  auto path = socket->path();
  socket.reset();
  EXPECT_NE(::stat(path.c_str(), &status), 0);
  EXPECT_FALSE(Peer(path).connected());
}

TEST_F(Socket, another_user_is_refused_with_few_lines) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can be another user";
  constexpr uid_t nobody = 65534;
  // All doors are open, so that only the session itself can refuse.
  ::chmod(root.c_str(), 0755);
  ::chmod(socket->path().c_str(), 0666);
  testing::internal::CaptureStderr();
  const auto child = ::fork();
  if (child == 0) {
    if (::setresuid(nobody, nobody, nobody) != 0)
      ::_exit(1);
    for (int i = 0; i < 1000; ++i) {
      const Peer peer(socket->path());
      peer.send("{\"a\":1}\n");
      if (!peer.connected() || peer.line())
        ::_exit(2);
    }
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(Peer(socket->path()).ask("{\"a\":1}\n")["echo"]["a"], 1);
  socket.reset();
  const auto log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(status, 0);
  EXPECT_EQ(asked, 1);
  EXPECT_NE(log.find("it is of user 65534"), log.npos) << log;
  EXPECT_LE(std::ranges::count(log, '\n'), 10);
}

TEST_F(Socket, garbage_is_answered_with_an_error) {
  Peer peer(socket->path());
  for (auto* garbage : {"hello\n", "[1,2]\n", "{\"a\":\n", "\n", "\xff\xfe\n"})
    EXPECT_TRUE(peer.ask(garbage).contains("error")) << garbage;
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(peer.ask("{}\n")["echo"], json::object());
}

TEST_F(Socket, a_request_without_end_closes_the_connection) {
  Peer peer(socket->path());
  for (int i = 0; i < 100 && peer.send(std::string(4096, ' ')); ++i) {
  }
  EXPECT_EQ(peer.line(), std::nullopt);
  EXPECT_EQ(Peer(socket->path()).ask("{\"a\":1}\n")["echo"]["a"], 1);
}

TEST_F(Socket, peers_that_stall_hold_up_nobody) {
  Peer silent(socket->path());
  Peer half(socket->path());
  half.send("{\"a\":");
  Peer deaf(socket->path()); // It asks for more than fits into buffers and reads nothing.
  deaf.send("{\"bytes\":50000000}\n");
  Peer peer(socket->path());
  EXPECT_EQ(peer.ask("{\"a\":1}\n")["echo"]["a"], 1);
  EXPECT_TRUE(half.send("2}\n"));
  EXPECT_EQ(json::parse(half.line().value())["echo"]["a"], 2);
  EXPECT_EQ(silent.ask("{\"a\":3}\n")["echo"]["a"], 3);
}

TEST_F(Socket, only_so_many_peers_are_served_at_a_time) {
  std::vector<std::unique_ptr<Peer>> peers;
  int answered = 0;
  for (int i = 0; i < 40; ++i) {
    peers.push_back(std::make_unique<Peer>(socket->path()));
    answered += peers.back()->ask("{}\n").is_object() ? 1 : 0;
  }
  EXPECT_EQ(answered, 32);
  peers.clear();
  // Places are free again, soon.
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!Peer(socket->path()).ask("{}\n").is_object() &&
         std::chrono::steady_clock::now() < end) {
  }
  EXPECT_TRUE(Peer(socket->path()).ask("{}\n").is_object());
}

TEST_F(Socket, can_be_closed_with_peers_that_wait) {
  Peer silent(socket->path());
  Peer deaf(socket->path());
  deaf.send("{\"bytes\":50000000}\n");
  Peer(socket->path()).ask("{}\n");
  socket.reset();
  EXPECT_EQ(silent.line(), std::nullopt);
}

TEST_F(Socket, a_path_that_cannot_be_used_is_an_error_with_its_reason) {
  auto problem = [&](const std::string& path) -> std::string {
    try {
      ObserverSocket(reactor, path, [](auto&) { return json(); });
      return "";
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  };
  EXPECT_NE(problem(root + "/none/s").find("No such file"), std::string::npos);
  EXPECT_NE(problem(socket->path()).find("in use"), std::string::npos);
  EXPECT_NE(problem(root + std::string(200, 'x')).find("longer"), std::string::npos);
}

} // namespace
} // namespace fiber::observer
