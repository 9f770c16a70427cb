// SPDX-License-Identifier: Apache-2.0
// The pool's interface: every form of map and apply gives each result once, in its order.

#include <algorithm>
#include <list>
#include <numeric>
#include <ranges>
#include <sstream>

#include <fiber/fiber.hpp>

#include "tests/e2e/support/modes.hpp"

namespace fiber::e2e {
namespace {

int square(int x) {
  return x * x;
}
int add(int a, int b) {
  return a + b;
}
void take(int) {}
std::string repeat(const std::string& text, int n) {
  std::string all;
  for (int i = 0; i < n; ++i)
    all += text;
  return all;
}

std::vector<int> numbers(int n) {
  std::vector<int> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<int> squares(int n) {
  auto all = numbers(n);
  std::transform(all.begin(), all.end(), all.begin(), square);
  return all;
}

using Map = EveryMode;

TEST_P(Map, gives_results_in_the_order_of_the_items) {
  Pool pool(3);
  EXPECT_EQ(pool.map(square, numbers(5000)), squares(5000));
  EXPECT_EQ(pool.map(square, numbers(100), {.chunksize = 7}), squares(100));
  EXPECT_EQ(pool.map(square, {1, 2, 3}), (std::vector<int>{1, 4, 9}));
  EXPECT_EQ(pool.map([](double x) { return x / 2; }, std::list<int>{1, 2}),
            (std::vector<double>{0.5, 1}));
  EXPECT_TRUE(pool.map(square, std::vector<int>{}).empty());
  pool.map(take, numbers(10));
}

TEST_P(Map, takes_any_chunksize) {
  Pool pool(2);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(pool.map(square, numbers(100), {.chunksize = SIZE_MAX - 1}), squares(100));
}

TEST_P(Map, takes_single_pass_and_lazy_ranges) {
  Pool pool(2);
  std::istringstream text("1 2 3 4");
  EXPECT_EQ(pool.map(square, std::ranges::istream_view<int>(text)),
            (std::vector<int>{1, 4, 9, 16}));
  EXPECT_EQ(pool.map(square, std::views::iota(0, 300)), squares(300));
  std::vector<bool> bits{true, false};
  EXPECT_EQ(pool.map([](bool b) { return b ? 1 : 0; }, bits), (std::vector<int>{1, 0}));
}

TEST_P(Map, spreads_tuples) {
  Pool pool(2);
  std::vector<std::pair<int, int>> pairs{{1, 2}, {3, 4}};
  EXPECT_EQ(pool.starmap(add, pairs), (std::vector<int>{3, 7}));
  EXPECT_EQ(pool.starmap_async(repeat, {std::tuple(std::string("ab"), 2)}).get(),
            std::vector<std::string>{"abab"});
}

TEST_P(Map, of_large_values_copies_them_whole) {
  Pool pool(2);
  std::vector<std::vector<double>> items(6, std::vector<double>(200000, 1.5));
  auto back = pool.map(
    [](std::vector<double> v) {
      v[0] = 2;
      return v;
    },
    items);
  ASSERT_EQ(back.size(), items.size());
  for (auto& values : back) {
    EXPECT_EQ(values[0], 2);
    EXPECT_EQ(values.back(), 1.5);
    EXPECT_EQ(values.size(), 200000U);
  }
}

TEST_P(Map, async_gives_all_outcomes) {
  Pool pool(2);
  auto results = pool.map_async(
    [](int x) {
      if (x % 3 == 0)
        throw std::runtime_error("three");
      return x;
    },
    numbers(10));
  auto outcomes = results.outcomes();
  ASSERT_EQ(outcomes.size(), 10U);
  EXPECT_TRUE(results.ready());
  EXPECT_EQ(results.done(), 10U);
  for (int i = 0; i < 10; ++i) {
    auto& outcome = outcomes[static_cast<std::size_t>(i)];
    EXPECT_EQ(outcome.ok(), i % 3 != 0);
    if (outcome.ok())
      EXPECT_EQ(outcome.value(), i);
    else
      EXPECT_THROW(outcome.value(), RemoteError);
  }
  try {
    results.get();
    FAIL() << "no failure";
  } catch (const RemoteError& error) {
    EXPECT_EQ(error.index(), 0U);
  }
  EXPECT_EQ(pool.map(square, numbers(3)), squares(3));
}

TEST_P(Map, apply_calls_with_any_arguments) {
  Pool pool(1);
  EXPECT_EQ(pool.apply(add, 1, 2), 3);
  EXPECT_EQ(pool.apply(repeat, "x", 3), "xxx");
  EXPECT_EQ(pool.apply([] { return 7; }), 7);
  auto future = pool.apply_async(add, 3, 4);
  auto copy =
    future; // NOLINT(performance-unnecessary-copy-initialization): a second handle.
  EXPECT_EQ(copy.get(), 7);
  EXPECT_EQ(future.get(), 7);
  EXPECT_TRUE(future.ready());
  pool.apply_async(take, 1).get();
}

TEST_P(Map, binds_arguments_once_a_call) {
  Pool pool(2);
  std::vector<double> weights(1000, 0.5);
  auto f = [](const std::vector<double>& w, int i) {
    return w.at(static_cast<std::size_t>(i)) * i;
  };
  auto values = pool.map(fiber::bind(f, weights), numbers(1000));
  EXPECT_EQ(values[10], 5.0);
}

TEST_P(Map, several_pools_and_calls_at_once) {
  Pool one(1), two(2);
  auto a = one.map_async(square, numbers(500));
  auto b = two.map_async(square, numbers(500));
  auto c = one.map_async(square, numbers(100));
  EXPECT_EQ(two.apply(add, 1, 1), 2);
  EXPECT_EQ(c.get(), squares(100));
  EXPECT_EQ(a.get(), squares(500));
  EXPECT_EQ(b.get(), squares(500));
}

TEST_P(Map, a_call_that_began_before_close_is_finished) {
  Pool pool(2);
  auto items = std::views::iota(0, 100) | std::views::transform([&](int i) {
                 if (i == 0)
                   pool.close();
                 return i;
               });
  EXPECT_EQ(pool.map(square, items), squares(100));
  EXPECT_THROW(pool.apply(square, 1), Closed);
  pool.join();
}

TEST_P(Map, imap_keeps_the_order_and_unordered_gives_all) {
  Pool pool(3);
  std::vector<int> seen;
  auto items = numbers(3000);
  for (auto value : pool.imap(square, items))
    seen.push_back(value);
  EXPECT_EQ(seen, squares(3000));
  seen.clear();
  for (auto value : pool.imap_unordered(square, numbers(3000)))
    seen.push_back(value);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, squares(3000));
}

TEST_P(Map, imap_goes_on_after_a_failure) {
  Pool pool(2);
  int good = 0, bad = 0;
  auto range = pool.imap(
    [](int x) {
      if (x == 2)
        throw std::out_of_range("two");
      return x;
    },
    numbers(5));
  for (auto it = range.begin(); it != range.end(); ++it) {
    try {
      static_cast<void>(*it);
      ++good;
    } catch (const RemoteError& error) {
      EXPECT_EQ(error.index(), 2U);
      ++bad;
    }
  }
  EXPECT_EQ(good, 4);
  EXPECT_EQ(bad, 1);
}

TEST_P(Map, imap_reads_an_endless_range_only_as_far_as_it_is_read) {
  Pool pool(2);
  auto range = pool.imap(square, std::views::iota(0));
  auto it = range.begin();
  for (int i = 0; i < 20; ++i, ++it)
    EXPECT_EQ(*it, i * i);
}

TEST_P(Map, tasks_know_themselves) {
  Pool pool(2);
  auto told = pool.map(
    [](int) {
      return std::tuple(this_task::index(), this_task::attempt(),
                        this_task::worker_rank());
    },
    numbers(50));
  for (std::size_t i = 0; i < told.size(); ++i) {
    EXPECT_EQ(std::get<0>(told[i]), i);
    EXPECT_EQ(std::get<1>(told[i]), 1);
    EXPECT_LT(std::get<2>(told[i]), 2U);
  }
  EXPECT_THROW(this_task::index(), Error);
}

int initialized = 0;

TEST_P(Map, the_initializer_comes_first) {
  Pool pool(PoolOptions{.workers = 2, .initializer = [] { initialized = 42; }});
  EXPECT_EQ(pool.map([](int) { return initialized; }, numbers(10)),
            std::vector<int>(10, 42));
}

TEST_P(Map, shared_values_reach_every_task) {
  Pool pool(2);
  auto value = share(std::vector<std::string>{"a", "b"});
  auto pick = [](const Shared<std::vector<std::string>>& all, int i) {
    return (*all)[static_cast<std::size_t>(i % 2)];
  };
  EXPECT_EQ(pool.map(fiber::bind(pick, value), numbers(3)),
            (std::vector<std::string>{"a", "b", "a"}));
  std::vector<double> noise(100000);
  std::iota(noise.begin(), noise.end(), 0.0);
  auto array = share(std::span<const double>(noise));
  auto at = [](const SharedArray<double>& all, int i) {
    return all[static_cast<std::size_t>(i)];
  };
  EXPECT_EQ(pool.map(fiber::bind(at, array), std::vector<int>{0, 99999}),
            (std::vector<double>{0, 99999}));
  // As an argument too, and within a container.
  auto sum = [](const std::vector<SharedArray<double>>& parts) {
    return parts.at(0)[1] + parts.at(1)[2];
  };
  EXPECT_EQ(pool.apply(sum, std::vector{array, array}), 3);
}

TEST_P(Map, a_task_gives_back_the_shared_values_it_got) {
  Pool pool(2);
  auto pass = [](const Shared<std::string>& text) { return text; };
  EXPECT_EQ(*pool.apply(pass, share(std::string("alone"))), "alone");
  // Nobody but the results holds them any more when they are read.
  auto many = pool.map_async(
    pass, std::vector{share(std::string("first")), share(std::string("second"))});
  auto bound = pool.map_async(
    fiber::bind([](const SharedArray<int>& all, int i) { return std::pair(all, i); },
                share(std::span<const int>(numbers(100)))),
    {3, 4});
  EXPECT_EQ(pool.map(square, numbers(100)), squares(100));
  EXPECT_EQ(*many.get().at(1), "second");
  for (auto& [all, i] : bound.get())
    EXPECT_EQ(all[static_cast<std::size_t>(i)], i);
}

INSTANTIATE_TEST_SUITE_P(On, Map, testing::ValuesIn(modes()), mode_name);

} // namespace
} // namespace fiber::e2e
