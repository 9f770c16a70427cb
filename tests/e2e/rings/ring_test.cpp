// SPDX-License-Identifier: Apache-2.0
// The promise: the members of a ring find each other, exchange numbers as MPI's would,
// and hand in their results by rank.
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <unistd.h>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/rings/ring_way.hpp"
#include "tests/e2e/support/modes.hpp"

namespace fiber::e2e {
namespace {

/// Value `i` of a member; another one for each.
template <class T>
T value(std::size_t rank, std::size_t i) {
  return static_cast<T>((rank + 1) * 100 + i * 7 % 31) *
         static_cast<T>((rank + i) % 2 == 0 ? 1 : -1);
}
template <class T>
std::vector<T> values(std::size_t rank, std::size_t n) {
  std::vector<T> all(n);
  for (std::size_t i = 0; i < n; ++i)
    all[i] = value<T>(rank, i);
  return all;
}
template <class T>
std::vector<T> reduced(std::size_t size, std::size_t n,
                       const std::function<T(T, T)>& op) {
  auto all = values<T>(0, n);
  for (std::size_t rank = 1; rank < size; ++rank)
    for (std::size_t i = 0; i < n; ++i)
      all[i] = op(all[i], value<T>(rank, i));
  return all;
}

/// What stands in `what` if it is not as expected; said in a job, where no test listens.
template <class T>
void check(std::vector<std::string>& wrong, const std::string& what,
           const std::vector<T>& got, const std::vector<T>& expected) {
  if (got == expected)
    return;
  std::string text = what + " of " + std::to_string(expected.size()) + ": got";
  for (auto& each : got)
    text += " " + std::to_string(each);
  wrong.push_back(text);
}

template <class T>
void check_reductions(RingMember& member, std::size_t n,
                      std::vector<std::string>& wrong) {
  auto size = member.size();
  auto sum = reduced<T>(size, n, std::plus<T>());
  auto min = reduced<T>(size, n, [](T a, T b) { return std::min(a, b); });
  auto max = reduced<T>(size, n, [](T a, T b) { return std::max(a, b); });
  auto mean = sum;
  for (auto& each : mean)
    each /= static_cast<T>(size);
  auto part = [&](const std::vector<T>& of) {
    auto each = n / size, more = n % size, rank = member.rank();
    auto first = of.begin() + static_cast<long>(rank * each + std::min(rank, more));
    return std::vector<T>(first, first + static_cast<long>(each + (rank < more)));
  };
  auto own = values<T>(member.rank(), n);
  auto some = own;
  member.allreduce(some);
  check(wrong, "allreduce", some, sum);
  member.allreduce(some = own, Min{});
  check(wrong, "allreduce Min", some, min);
  member.allreduce(some = own, Max{});
  check(wrong, "allreduce Max", some, max);
  member.allreduce(std::span(some = own), Mean{});
  check(wrong, "allreduce Mean", some, mean);
  check(wrong, "reduce_scatter", member.reduce_scatter(own), part(sum));
  check(wrong, "reduce_scatter Min", member.reduce_scatter(own, Min{}), part(min));
  check(wrong, "reduce_scatter Max", member.reduce_scatter(own, Max{}), part(max));
  check(wrong, "reduce_scatter Mean", member.reduce_scatter(own, Mean{}), part(mean));
}

template <class T>
void check_exchanges(RingMember& member, std::size_t n, std::vector<std::string>& wrong) {
  auto size = member.size(), rank = member.rank();
  const auto own = values<T>(rank, n);
  std::vector<T> all;
  for (std::size_t other = 0; other < size; ++other) {
    auto theirs = values<T>(other, n);
    all.insert(all.end(), theirs.begin(), theirs.end());
    auto some = own;
    member.broadcast(some, other);
    check(wrong, "broadcast", some, theirs);
  }
  check(wrong, "allgather", member.allgather(own), all);
  for (std::size_t step = 1; step < size; ++step) { // All send before they receive.
    auto to = (rank + step) % size, from = (rank + size - step) % size;
    member.send(own, to);
    member.send(std::vector<T>{static_cast<T>(step)}, to);
    std::vector<T> heard(n);
    std::array<T, 1> last{};
    member.recv(heard, from);
    member.recv(last, from);
    check(wrong, "recv", heard, values<T>(from, n));
    check<T>(wrong, "recv of the last", {last[0]}, {static_cast<T>(step)});
  }
}

template <class T>
std::vector<std::string> check_all(RingMember& member) {
  std::vector<std::string> wrong;
  for (std::size_t n : {0, 1, 3, 5, 12, 1000}) {
    check_reductions<T>(member, n, wrong);
    check_exchanges<T>(member, n, wrong);
    member.barrier();
  }
  check_reductions<T>(member, 100'000, wrong); // Large ones go another way.
  return wrong;
}

std::vector<std::string> check_every_type(RingMember& member) {
  auto wrong = check_all<float>(member);
  for (auto check : {check_all<double>, check_all<std::int32_t>, check_all<std::int64_t>})
    for (auto& text : check(member))
      wrong.push_back(text);
  return wrong;
}

/// Several boxes for each collective, in which all values are added up by rank.
std::vector<std::string> check_large_arrays(RingMember& member) {
  std::vector<std::string> wrong;
  check_reductions<float>(member, 3'000'001, wrong);
  check_exchanges<std::int64_t>(member, 700'003, wrong);
  return wrong;
}

template <auto f>
auto by_way(RingWay way, RingMember& member) {
  way.check();
  return f(member);
}

class EveryRing : public EveryMode {
protected:
  std::size_t largest() const { return in_process() ? 1 : 5; }
};

TEST_P(EveryRing, computes_what_one_process_would) {
  for (std::size_t size = 1; size <= largest(); ++size) {
    Ring ring(size, check_every_type);
    auto wrong = ring.run();
    ASSERT_EQ(wrong.size(), size);
    for (std::size_t rank = 0; rank < size; ++rank)
      EXPECT_EQ(wrong[rank], std::vector<std::string>())
        << "rank " << rank << " of " << size;
  }
}

TEST_P(EveryRing, computes_the_same_without_shared_memory) {
  if (in_process())
    return; // There is one member, which shares with nobody.
  Ring ring(4, fiber::bind(by_way<check_every_type>, RingWay{1}));
  EXPECT_EQ(ring.run(), std::vector<std::vector<std::string>>(4));
}

TEST_P(EveryRing, computes_with_arrays_that_do_not_fit_into_the_memory) {
  if (in_process())
    return; // As above.
  Ring ring(3, fiber::bind(by_way<check_large_arrays>, RingWay{0}));
  EXPECT_EQ(ring.run(), std::vector<std::vector<std::string>>(3));
}

/// Adds up numbers whose sum depends on the order.
std::vector<float> add_rounded(RingMember& member) {
  std::vector<float> numbers(100'000);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = 1e-3F * static_cast<float>((i * 7919 + member.rank() * 104729) % 99991);
  auto few = numbers;
  few.resize(10);
  member.allreduce(numbers);
  member.allreduce(few);
  numbers.insert(numbers.end(), few.begin(), few.end());
  return numbers;
}

TEST_P(EveryRing, gives_all_members_the_same_bits) {
  if (in_process())
    return; // As above.
  for (std::uint8_t gloo : {0, 1}) {
    Ring ring(4, fiber::bind(by_way<add_rounded>, RingWay{gloo}));
    const auto all = ring.run(), again = ring.run();
    EXPECT_EQ(all, std::vector<std::vector<float>>(4, all.front()));
    EXPECT_EQ(all, again);
  }
}

TEST_P(EveryRing, gives_results_by_rank) {
  auto n = largest();
  Ring<double> ring(n, [](RingMember& member) {
    return static_cast<double>(member.rank() * 10 + member.size()) +
           member.attempt() / 4.0;
  });
  std::vector<double> expected;
  for (std::size_t rank = 0; rank < n; ++rank)
    expected.push_back(static_cast<double>(rank * 10 + n) + 0.25);
  EXPECT_EQ(ring.run(), expected);
  EXPECT_EQ(ring.run(), expected); // Anew.
}

TEST_P(EveryRing, takes_what_a_pool_takes_and_returns_any_value) {
  auto n = largest();
  auto numbers = std::make_shared<int>(0);
  Ring bound({.size = n, .resources = {.cpu = 0.5}},
             fiber::bind(
               [](const std::string& text, int i, RingMember& member) {
                 return text + std::to_string(i + static_cast<int>(member.rank()));
               },
               std::string("x"), 3));
  auto texts = bound.run();
  EXPECT_EQ(texts.front(), "x3");
  EXPECT_EQ(texts.back(), "x" + std::to_string(2 + n));
  Ring none(n, [](RingMember& member) { note("ran", std::to_string(member.rank())); });
  none.run();
  EXPECT_EQ(notes("ran").size(), n);
  Ring large(n, [](RingMember& member) {
    return std::vector<double>(100000, static_cast<double>(member.rank()));
  });
  EXPECT_EQ(large.run().back(), std::vector<double>(100000, static_cast<double>(n - 1)));
  Ring measured(n, meta([](RingMember&) { return true; }, {.cpu = 0.5}));
  EXPECT_EQ(measured.run(), std::vector<bool>(n, true));
}

TEST_P(EveryRing, knows_its_task_by_rank) {
  Ring ring(largest(), [](RingMember& member) {
    return this_task::index() == member.rank() && this_task::attempt() == 1;
  });
  for (auto well : ring.run())
    EXPECT_TRUE(well);
}

TEST_P(EveryRing, throws_what_its_function_throws_with_the_rank) {
  auto thrower = static_cast<int>(largest()) - 1;
  Ring ring(largest(), fiber::bind(
                         [](int thrower, RingMember& member) {
                           if (static_cast<int>(member.rank()) == thrower)
                             throw std::out_of_range("no 17th");
                           member.barrier(); // In which the others are.
                         },
                         thrower));
  try {
    ring.run();
    FAIL() << "no error";
  } catch (const RemoteError& error) {
    EXPECT_EQ(error.type(), "std::out_of_range");
    EXPECT_EQ(error.index(), static_cast<std::size_t>(thrower));
    EXPECT_EQ(error.attempt(), 1);
    EXPECT_EQ(
      std::string(error.what()).find("rank " + std::to_string(thrower) + " (attempt 1"),
      0U)
      << error.what();
    EXPECT_THROW(error.rethrow_original(), std::out_of_range);
  }
  Ring works(largest(), [](RingMember& member) { return member.rank(); });
  EXPECT_EQ(works.run().size(), largest());
}

TEST_P(EveryRing, keeps_a_checkpoint_in_a_file_between_runs) {
  auto path = (folder() / "ring.checkpoint").string();
  Ring ring({.size = largest(), .checkpoint = path}, [](RingMember& member) {
    auto last = member.checkpoint().load<int>().value_or(0);
    member.barrier(); // All have read it.
    if (member.rank() == 0)
      member.checkpoint().save(last + 1);
    return last;
  });
  EXPECT_EQ(ring.run().back(), 0);
  EXPECT_EQ(ring.run().back(), 1);
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_P(EveryRing, refuses_what_it_can_not_be) {
  auto nothing = [](RingMember&) {};
  EXPECT_THROW(Ring({.size = 1, .max_restarts = -2}, nothing), ConfigError);
  EXPECT_THROW(Ring({.size = 1, .resources = {.cpu = 0}}, nothing), ConfigError);
  EXPECT_THROW(Ring({.size = 1, .resources = {.gpu = 1}}, meta(nothing, {.gpu = 2})),
               ConfigError);
  Ring before(1, nothing);
  close();
  EXPECT_THROW(before.run(), Closed);
  EXPECT_THROW(Ring(1, nothing), Closed);
}

TEST_P(EveryRing, refuses_members_that_are_not_there) {
  Ring ring(largest(), [](RingMember& member) {
    std::vector<int> one(1);
    auto refused = 0;
    auto count = [&](auto f) {
      try {
        f();
      } catch (const Error&) {
        ++refused;
      }
    };
    count([&] { member.broadcast(one, member.size()); });
    count([&] { member.send(one, member.rank()); });
    count([&] { member.recv(one, member.size()); });
    return refused;
  });
  EXPECT_EQ(ring.run(), std::vector<int>(largest(), 3));
}

INSTANTIATE_TEST_SUITE_P(On, EveryRing, testing::ValuesIn(modes()), mode_name);

class RingOn : public SessionTest {};

TEST_F(RingOn, inline_has_one_member) {
  open({.backend = "inline"});
  try {
    Ring ring(2, [](RingMember&) {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("inline runs on one thread"),
              std::string::npos);
  }
  Ring alone(0, [](RingMember& member) { return member.size(); });
  EXPECT_EQ(alone.run(), std::vector<std::size_t>{1});
}

TEST_F(RingOn, local_has_as_many_members_as_there_are_processors) {
  open();
  Ring ring(0, [](RingMember& member) { return member.size(); });
  EXPECT_EQ(ring.run(), std::vector<std::size_t>(cpu_count(), cpu_count()));
}

TEST_F(RingOn, local_runs_beside_another) {
  open();
  auto run = [](int more) {
    Ring ring(3, fiber::bind(
                   [](int more, RingMember& member) {
                     std::vector<int> one{more};
                     for (int i = 0; i < 50; ++i)
                       member.allreduce(one, Max{});
                     member.allreduce(one);
                     return one[0];
                   },
                   more));
    return ring.run();
  };
  std::vector<int> first, second;
  std::thread other([&] { first = run(1); });
  second = run(10);
  other.join();
  EXPECT_EQ(first, std::vector<int>(3, 3));
  EXPECT_EQ(second, std::vector<int>(3, 30));
}

TEST_F(RingOn, local_lets_nobody_go_before_others_have_heard_from_it) {
  open();
  Ring ring(2, [](RingMember& member) {
    std::vector<int> values(100000, 7);
    if (member.rank() == 0) {
      note("sender", std::to_string(getpid()));
      member.send(values, 1);
      return true;
    }
    auto sender = static_cast<pid_t>(noted("sender"));
    wait_until([&] { return !lives(sender); }, std::chrono::milliseconds(300));
    std::vector<int> heard(values.size());
    member.recv(heard, 0);
    return heard == values;
  });
  EXPECT_EQ(ring.run(), std::vector<bool>(2, true));
}

TEST_F(RingOn, local_can_be_made_in_a_task) {
  open();
  Pool pool(1);
  auto sums = pool.apply([] {
    Ring ring(2, [](RingMember& member) {
      std::vector<int> rank{static_cast<int>(member.rank()) + 1};
      member.allreduce(rank);
      return rank[0];
    });
    return ring.run();
  });
  EXPECT_EQ(sums, (std::vector<int>{3, 3}));
}

/// Where this process has TCP sockets: how many on loopback, how many elsewhere.
std::pair<std::size_t, std::size_t> sockets() {
  std::set<std::string> own;
  for (auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    own.insert(std::filesystem::read_symlink(fd, gone).string());
  }
  std::size_t here = 0, elsewhere = 0;
  for (auto* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    std::getline(file, line); // Names of columns.
    while (std::getline(file, line)) {
      std::istringstream fields(line);
      std::vector<std::string> columns{std::istream_iterator<std::string>(fields), {}};
      if (columns.size() < 10 || !own.contains("socket:[" + columns[9] + "]"))
        continue;
      auto loopback = columns[1].starts_with("0100007F:") ||
                      columns[1].starts_with("00000000000000000000000001000000:");
      ++(loopback ? here : elsewhere);
    }
  }
  return {here, elsewhere};
}

TEST_F(RingOn, local_has_sockets_on_loopback_alone_and_none_that_listen_on) {
  open();
  Ring ring(3, [](RingMember& member) {
    member.barrier();
    return sockets();
  });
  for (auto [here, elsewhere] : ring.run()) {
    EXPECT_EQ(here, 2U); // One to each other member.
    EXPECT_EQ(elsewhere, 0U);
  }
}

/// An address of this machine that is not loopback; empty if there is none.
std::string own_network_address() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0)
    return {};
  std::string found;
  for (auto* at = list; at != nullptr && found.empty(); at = at->ifa_next) {
    std::array<char, NI_MAXHOST> text{};
    if (at->ifa_addr != nullptr && at->ifa_addr->sa_family == AF_INET &&
        (at->ifa_flags & IFF_UP) != 0 && (at->ifa_flags & IFF_LOOPBACK) == 0 &&
        getnameinfo(at->ifa_addr, sizeof(sockaddr_in), text.data(), text.size(), nullptr,
                    0, NI_NUMERICHOST) == 0)
      found = text.data();
  }
  freeifaddrs(list);
  return found;
}

TEST_F(RingOn, a_network_needs_consent) {
  auto own = own_network_address();
  if (own.empty())
    GTEST_SKIP() << "this machine has no address but loopback";
  open({.link = "tls", .advertise_address = own});
  auto sum = [](RingMember& member) {
    std::vector<int> one{1};
    member.allreduce(one);
    return one[0];
  };
  try {
    Ring ring(2, sum);
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.key(), "ring_plaintext");
    EXPECT_NE(std::string(error.what()).find("does not encrypt"), std::string::npos);
  }
  EXPECT_EQ(Ring(1, sum).run(), std::vector<int>{1}); // It talks to nobody.
  close();
  open({.link = "tls", .advertise_address = own, .ring_plaintext = true});
  EXPECT_EQ(Ring(2, sum).run(), std::vector<int>(2, 2));
}

} // namespace
} // namespace fiber::e2e
