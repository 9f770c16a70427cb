// SPDX-License-Identifier: Apache-2.0
// The promise: processes of one user on one machine meet at a name that nobody can guess;
// nobody else gets in.
#include "wire/local_listener.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/wire/wire_fixture.hpp"
#include "wire/error.hpp"
#include "wire/reactor.hpp"

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

TEST_F(LocalListenerTest, has_a_name_that_nobody_can_guess) {
  auto one = listen(), other = listen();
  EXPECT_NE(one.name(), other.name());
  EXPECT_GE(one.name().size(), 32U);
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
  EXPECT_THROW(dial_local(reactor, ""), WireError);
  EXPECT_THROW(dial_local(reactor, std::string(200, 'x')), WireError);
}

/// Connects as another user and waits for the end; 0 if it comes.
int knock_as_nobody(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, name.size());
  auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  auto fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  constexpr uid_t nobody = 65534;
  if (::setresuid(nobody, nobody, nobody) != 0 ||
      ::connect(fd, reinterpret_cast<sockaddr*>(&address), size) != 0)
    return 1;
  char any = 0;
  return ::recv(fd, &any, 1, 0) <= 0 ? 0 : 2;
}

TEST_F(LocalListenerTest, drops_another_user) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can be another user";
  auto listener = listen();
  auto child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0)
    ::_exit(knock_as_nobody(listener.name()));
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(arrivals(), 0U);
}

} // namespace
} // namespace fiber::wire
