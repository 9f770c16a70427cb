// SPDX-License-Identifier: Apache-2.0
// The promise: processes of one user on one machine meet at a socket to which nobody else
// can connect; what knocks at it in floods delays nothing else and fills no log.
#include "wire/local_listener.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <spdlog/sinks/ostream_sink.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.hpp"
#include "tests/wire/wire_fixture.hpp"
#include "wire/error.hpp"
#include "wire/reactor.hpp"
#include "wire/refusal_log.hpp"

namespace fiber::wire {
namespace {

struct LocalListenerTest : testing::Test {
  LocalListener listen() {
    return {reactor, {}, [this](const std::string& who, std::shared_ptr<Link> link) {
              const std::lock_guard lock(mutex);
              accepted.push_back(who);
              links.push_back(link);
              link->start(at_listener);
            }};
  }
  std::size_t arrivals() {
    const std::lock_guard lock(mutex);
    return accepted.size();
  }

  std::shared_ptr<Recorder> at_listener = std::make_shared<Recorder>(),
                            at_dialler = std::make_shared<Recorder>();
  std::mutex mutex;
  std::vector<std::string> accepted;
  std::vector<std::shared_ptr<Link>> links;
  Reactor reactor;
};

TEST_F(LocalListenerTest, links_processes_of_one_user) {
  auto listener = listen();
  auto link = dial_local(reactor, listener.name());
  link->start(at_dialler);
  link->send(1, bytes_of("hello"));
  ASSERT_TRUE(eventually([&] { return at_listener->messages().size() == 1; }));
  EXPECT_EQ(text_of(at_listener->messages().front().bytes), "hello");
  EXPECT_EQ(accepted.front(), "process " + std::to_string(getpid()));
}

/// The path at which others would have to connect.
std::string door_of(const LocalListener& listener) {
  const auto name = listener.name();
  const auto slash = name.find('/');
  return "/proc/" + name.substr(0, slash) + "/fd/" + name.substr(slash + 1);
}

UniqueFd connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    socket.reset();
  return socket;
}

TEST_F(LocalListenerTest, leaves_no_file_and_no_name_that_others_see) {
  auto listener = listen();
  const auto target = std::filesystem::read_symlink(door_of(listener)).string();
  ASSERT_NE(target.find("/fiber-link-"), std::string::npos) << target;
  ASSERT_TRUE(target.ends_with(" (deleted)")) << target;
  const auto file = target.substr(0, target.find(" (deleted)"));
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(file).parent_path()));
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);)
    EXPECT_EQ(line.find("@fiber"), line.npos) << line;
}

TEST_F(LocalListenerTest, dials_nothing_but_such_a_listener) {
  for (auto* name : {"", "1", "/", "1/", "/1", "-1/3", "1/-3", "1/3x", "x/3", "1/2/3",
                     "99999999999/1", "/tmp/other.sock", "fiber-0123456789abcdef"})
    EXPECT_THROW(dial_local(reactor, name), WireError) << name;
  // An ordinary socket of this user, as one of ssh-agent is.
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const UniqueFd one(ends[0]), other(ends[1]);
  EXPECT_THROW(
    dial_local(reactor, std::to_string(getpid()) + "/" + std::to_string(one.get())),
    WireError);
}

TEST_F(LocalListenerTest, a_crowd_that_knocks_leaves_turns_to_others) {
  std::vector<UniqueFd> crowd;
  std::atomic<std::size_t> before_the_turn = 0, all = 0;
  std::atomic<bool> hold = true;
  LocalListener listener(
    reactor, {}, [&](const std::string&, const std::shared_ptr<Link>& link) {
      if (all++ == 0)
        reactor.post([&] { before_the_turn = all.load(); }); // As a heartbeat would.
      const std::lock_guard lock(mutex);
      links.push_back(link);
    });
  reactor.post([&] { hold.wait(true); });
  constexpr std::size_t knocks = 60; // Fewer than the kernel lets wait.
  while (crowd.size() < knocks)
    crowd.push_back(connect_to(door_of(listener)));
  EXPECT_TRUE(std::ranges::all_of(crowd, [](auto& socket) { return bool(socket); }));
  hold = false;
  hold.notify_all();
  ASSERT_TRUE(eventually([&] { return all == knocks && before_the_turn > 0; }));
  EXPECT_LT(before_the_turn, knocks / 2);
}

TEST_F(LocalListenerTest, takes_nobody_once_it_has_ended) {
  std::string name;
  {
    auto listener = listen();
    name = listener.name();
    dial_local(reactor, name);
    ASSERT_TRUE(eventually([&] { return arrivals() == 1; }));
  }
  EXPECT_TRUE(eventually([&] {
    try {
      dial_local(reactor, name);
    } catch (const WireError&) {
      return true;
    }
    return false;
  }));
  EXPECT_EQ(arrivals(), 1U);
}

constexpr uid_t nobody = 65534;
constexpr int many = 1000;

/// In a child of this process. Its exit code is what `f` returns.
template <class F>
int in_child(F f) {
  const auto child = ::fork();
  if (child == 0)
    ::_exit(f());
  int status = -1;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                    : -1;
}

TEST_F(LocalListenerTest, another_user_cannot_connect) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can be another user";
  auto listener = listen();
  const auto door = door_of(listener);
  EXPECT_EQ(in_child([&] {
              if (::setresuid(nobody, nobody, nobody) != 0)
                return 1;
              for (int i = 0; i < many; ++i)
                if (connect_to(door) || errno != EACCES)
                  return 2;
              return 0;
            }),
            0);
  EXPECT_TRUE(connect_to(door)); // As its user.
  EXPECT_TRUE(eventually([&] { return arrivals() == 1; }));
}

/// Listens as another user until the pipe ends, and writes the name of the listener, then
/// how many links came and how many lines were logged.
int listen_as_nobody(int told, int until) {
  if (::setresuid(nobody, nobody, nobody) != 0)
    return 1;
  std::ostringstream text;
  log().sinks() = {std::make_shared<spdlog::sinks::ostream_sink_mt>(text)};
  std::atomic<int> came = 0;
  {
    Reactor own;
    LocalListener listener(own, {}, [&](const auto&, const auto&) { ++came; });
    const auto name = listener.name();
    if (::write(told, name.data(), name.size()) < 0)
      return 2;
    char any = 0;
    static_cast<void>(::read(until, &any, 1)); // NOLINT(bugprone-unused-return-value)
  }
  const auto lines = text.str();
  const auto count = std::count(lines.begin(), lines.end(), '\n');
  const auto limit = static_cast<std::ptrdiff_t>(RefusalLog::lines_in_full) + 1;
  return came != 0 ? 3 : count == limit ? 0 : 4;
}

// Root may connect to sockets of all users, but is another user.
TEST(LocalListenerOfAnotherUser, refuses_root_with_few_lines) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can be another user";
  int told[2], until[2];
  ASSERT_EQ(::pipe(told), 0);
  ASSERT_EQ(::pipe(until), 0);
  const auto child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::close(until[1]);
    ::_exit(listen_as_nobody(told[1], until[0]));
  }
  char name[64] = {};
  ASSERT_GT(::read(told[0], name, sizeof name - 1), 0);
  const auto door =
    "/proc/" + std::string(name).replace(std::string(name).find('/'), 1, "/fd/");
  for (int i = 0; i < many; ++i) {
    UniqueFd knock;
    ASSERT_TRUE(eventually([&] { // The kernel lets only so many wait.
      knock = connect_to(door);
      return bool(knock);
    }));
    char any = 0;
    ASSERT_TRUE(eventually([&] { return ::recv(knock.get(), &any, 1, 0) == 0; }));
  }
  ::close(until[1]);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  for (int fd : {told[0], told[1], until[0]})
    ::close(fd);
}

} // namespace
} // namespace fiber::wire
