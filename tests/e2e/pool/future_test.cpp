// SPDX-License-Identifier: Apache-2.0
// The promise: whoever has many futures learns of each when it is there, and can say what
// follows on one.
#include <chrono>
#include <future>
#include <set>
#include <stdexcept>
#include <thread>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/support/modes.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

std::size_t fails(std::size_t i) {
  throw std::invalid_argument("number " + std::to_string(i));
}
std::size_t waits(std::size_t i) {
  await_note("go");
  return f(i);
}
void nothing() {}
std::string text_of(std::size_t i) {
  return std::to_string(i);
}

class Futures : public EveryMode {
protected:
  static std::vector<Future<std::size_t>> many(Pool& pool, std::size_t n) {
    std::vector<Future<std::size_t>> all;
    for (std::size_t i = 0; i < n; ++i)
      all.push_back(pool.apply_async(f, i));
    return all;
  }
};

TEST_P(Futures, come_as_they_are_completed) {
  Pool pool(2);
  std::multiset<std::size_t> values;
  for (auto future : as_completed(many(pool, 200))) {
    EXPECT_TRUE(future.ready());
    values.insert(future.get());
  }
  auto wanted = undisturbed(200);
  EXPECT_EQ(values, std::multiset<std::size_t>(wanted.begin(), wanted.end()));
  for (auto future : as_completed(std::vector<Future<int>>{}))
    FAIL() << future.get();
}

TEST_P(Futures, that_fail_are_completed_too) {
  Pool pool(2);
  auto futures = many(pool, 10);
  futures.push_back(pool.apply_async(fails, std::size_t{10}));
  std::size_t failed = 0, good = 0;
  for (auto future : as_completed(futures))
    try {
      future.get();
      ++good;
    } catch (const RemoteError&) {
      ++failed;
    }
  EXPECT_EQ(good, 10u);
  EXPECT_EQ(failed, 1u);
}

TEST_P(Futures, of_several_pools_can_be_mixed) {
  Pool one(1), two(1);
  std::vector<Future<std::size_t>> futures;
  for (std::size_t i = 0; i < 20; ++i)
    futures.push_back((i % 2 == 0 ? one : two).apply_async(f, i));
  EXPECT_EQ(wait(futures, 20, 60s).size(), 20u);
}

TEST_P(Futures, of_no_task_are_refused) {
  EXPECT_THROW(as_completed(std::vector<Future<int>>(1)), Error);
  EXPECT_THROW(wait(std::vector<Future<int>>(1), 1, 1s), Error);
  EXPECT_THROW(Future<int>().then(text_of), Error);
}

TEST_P(Futures, are_followed_by_what_is_said) {
  Pool pool(2);
  auto text = pool.apply_async(f, std::size_t{3}).then(text_of);
  EXPECT_EQ(text.get(), std::to_string(f(3)));
  auto length = text.then(
    [extra = std::size_t{5}](const std::string& known) { return known.size() + extra; });
  EXPECT_EQ(length.get(), text.get().size() + 5);
  EXPECT_EQ(length.get(), text.get().size() + 5) << "a second time";
  std::promise<void> called;
  pool.apply_async(nothing).then([&] { called.set_value(); }).get();
  called.get_future().get();
}

TEST_P(Futures, hand_their_failure_on) {
  Pool pool(1);
  auto called = false;
  auto after = pool.apply_async(fails, std::size_t{7}).then([&](std::size_t) {
    called = true;
    return 1;
  });
  EXPECT_THROW(after.get(), RemoteError);
  EXPECT_FALSE(called);
  auto throws = pool.apply_async(f, std::size_t{1}).then([](std::size_t) -> int {
    throw std::out_of_range("too far");
  });
  EXPECT_THROW(throws.get(), std::out_of_range);
}

TEST_P(Futures, can_be_followed_by_more_tasks) {
  Pool pool(2);
  auto sum = pool.apply_async(f, std::size_t{2}).then([&](std::size_t known) {
    return in_process() ? f(known) : pool.apply(f, known);
  });
  EXPECT_EQ(sum.get(), f(f(2)));
}

TEST_P(Futures, carry_shared_values_on) {
  Pool pool(1);
  auto after = pool.apply_async(f, std::size_t{1}).then([](std::size_t) {
    return share(std::vector<int>(1000, 7));
  });
  EXPECT_EQ(after.get()->size(), 1000u);
}

/// Those whose tasks run beside the program.
class Beside : public Futures {};

TEST_P(Beside, a_wait_ends_with_the_first_ones) {
  Pool pool(2);
  std::vector<Future<std::size_t>> futures{pool.apply_async(waits, std::size_t{0}),
                                           pool.apply_async(f, std::size_t{1})};
  EXPECT_EQ(wait(futures, 1, 60s), std::vector<std::size_t>{1});
  EXPECT_EQ(wait(futures, 2, 10ms), std::vector<std::size_t>{1}) << "its time is over";
  EXPECT_TRUE(wait(futures, 0, 60s).size() == 1) << "those that are there";
  note("go", "");
  EXPECT_EQ(wait(futures, 5, 60s), (std::vector<std::size_t>{1, 0})) << "as they ended";
}

TEST_P(Beside, the_end_of_the_session_ends_what_would_follow) {
  Future<std::size_t> after;
  {
    Pool pool(1);
    after = pool.apply_async(waits, std::size_t{0}).then([](std::size_t i) { return i; });
    EXPECT_FALSE(after.wait_for(1ms));
  }
  EXPECT_ANY_THROW(after.get());
}

TEST_P(Beside, a_future_that_follows_can_cancel_what_it_follows) {
  Pool pool(PoolOptions{.workers = 1, .cancel_grace = 10ms});
  auto after =
    pool.apply_async(waits, std::size_t{0}).then([](std::size_t i) { return i; });
  after.cancel();
  EXPECT_THROW(after.get(), Cancelled);
}

INSTANTIATE_TEST_SUITE_P(On, Futures, testing::ValuesIn(modes()), mode_name);
INSTANTIATE_TEST_SUITE_P(With, Beside,
                         testing::Values(Mode{"local", {}}, Mode{"tls", {.link = "tls"}}),
                         mode_name);

} // namespace
} // namespace fiber::e2e
