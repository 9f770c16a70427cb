// SPDX-License-Identifier: Apache-2.0
// The journal's promise: a map that is started again with its journal runs only what is
// missing, and gives what an undisturbed run gives.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <ranges>
#include <stdexcept>

#include <fiber/fiber.hpp>

#include "tests/e2e/support/modes.hpp"

namespace fiber::e2e {
namespace {

std::size_t noted_f(std::size_t i) {
  note("runs", std::to_string(i));
  return f(i);
}
std::size_t other_f(std::size_t i) {
  return f(i) + 1;
}
void only_note(std::size_t i) {
  note("runs", std::to_string(i));
}
std::size_t noted_sum(std::size_t a, std::size_t b) {
  note("runs", std::to_string(a));
  return a + b;
}
/// Fails until the test notes something in "mended".
std::size_t fail_odd(std::size_t i) {
  note("runs", std::to_string(i));
  if (i % 2 == 1 && notes("mended").empty())
    throw std::runtime_error("odd");
  return f(i);
}
std::size_t ran() {
  return notes("runs").size();
}

class Journal : public EveryMode {
protected:
  std::string path(const std::string& name = "journal") const {
    return (folder() / name).string();
  }
};

TEST_P(Journal, of_a_finished_map_runs_nothing_again) {
  Pool pool(2);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(pool.map(noted_f, indices(1000), {.journal = path()}), undisturbed(1000));
  EXPECT_EQ(ran(), 1000U);
}

TEST_P(Journal, of_a_part_runs_the_rest) {
  Pool pool(2);
  pool.map(noted_f, indices(300), {.journal = path()});
  EXPECT_EQ(pool.map(noted_f, indices(1000), {.journal = path()}), undisturbed(1000));
  EXPECT_EQ(ran(), 1000U);
  auto results = pool.map_async(noted_f, indices(1000), {.journal = path()});
  EXPECT_EQ(results.done(), 1000U);
  EXPECT_EQ(results.get(), undisturbed(1000));
  EXPECT_EQ(ran(), 1000U);
}

TEST_P(Journal, holds_for_every_form_of_map) {
  Pool pool(2);
  for (int again = 0; again < 2; ++again) {
    pool.map(only_note, indices(50), {.journal = path("void")});
    std::vector<std::pair<std::size_t, std::size_t>> pairs{{1, 2}, {3, 4}};
    EXPECT_EQ(pool.starmap(noted_sum, pairs, {.journal = path("starmap")}),
              (std::vector<std::size_t>{3, 7}));
    EXPECT_EQ(pool.starmap_async(noted_sum, pairs, {.journal = path("async")}).get(),
              (std::vector<std::size_t>{3, 7}));
    std::size_t next = 0;
    for (auto value :
         pool.imap(noted_f, std::views::iota(std::size_t{0}, std::size_t{70}),
                   {.journal = path("imap")}))
      EXPECT_EQ(value, f(next++));
    EXPECT_EQ(next, 70U);
    std::vector<std::size_t> all;
    for (auto value :
         pool.imap_unordered(noted_f, indices(80), {.journal = path("unordered")}))
      all.push_back(value);
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, undisturbed(80));
    EXPECT_EQ(ran(), 50U + 2 + 2 + 70 + 80);
  }
}

TEST_P(Journal, of_a_stream_that_was_left_goes_on_from_there) {
  Pool pool(2);
  {
    auto stream = pool.imap(noted_f, indices(100), {.journal = path()});
    auto it = stream.begin();
    for (int i = 0; i < 9; ++i)
      ++it;
    EXPECT_EQ(*it, f(9));
  }
  pool.map(noted_f, indices(10), {.journal = path()});
  auto counts = runs("runs", 100);
  EXPECT_TRUE(
    std::all_of(counts.begin(), counts.begin() + 10, [](auto n) { return n == 1; }));
  EXPECT_EQ(pool.map(noted_f, indices(100), {.journal = path()}), undisturbed(100));
}

TEST_P(Journal, keeps_no_failures) {
  Pool pool(2);
  auto failed = pool.map_async(fail_odd, indices(20), {.journal = path()}).outcomes();
  for (std::size_t i = 0; i < 20; ++i)
    EXPECT_EQ(failed[i].ok(), i % 2 == 0);
  note("mended", "");
  EXPECT_EQ(pool.map(fail_odd, indices(20), {.journal = path()}), undisturbed(20));
  for (std::size_t i = 0; i < 20; ++i)
    EXPECT_EQ(runs("runs", 20)[i], 1 + i % 2);
}

TEST_P(Journal, of_another_call_is_refused) {
  Pool pool(2);
  auto plus = [](std::size_t a, std::size_t b) { return a + b; };
  pool.map(noted_f, indices(10), {.journal = path()});
  pool.map(fiber::bind(plus, std::size_t{1}), indices(10), {.journal = path("bound")});
  EXPECT_THROW(pool.map(other_f, indices(10), {.journal = path()}), ConfigError);
  EXPECT_THROW(
    pool.map(fiber::bind(plus, std::size_t{2}), indices(10), {.journal = path("bound")}),
    ConfigError);
  auto inputs = indices(10);
  inputs[5] = 77;
  try {
    pool.map(noted_f, inputs, {.journal = path()});
    FAIL() << "other inputs were taken";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.key(), "journal");
    EXPECT_NE(std::string(error.what()).find("task 5"), std::string::npos)
      << error.what();
  }
  EXPECT_EQ(pool.map(noted_f, indices(10), {.journal = path()}), undisturbed(10));
  EXPECT_EQ(ran(), 10U);
}

TEST_P(Journal, in_use_is_refused_by_the_name_of_who_uses_it) {
  Pool pool(2);
  auto first = pool.imap(noted_f, std::views::iota(std::size_t{0}), {.journal = path()});
  try {
    pool.map(noted_f, indices(10), {.journal = path()});
    FAIL() << "two calls had one journal";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("process " + std::to_string(getpid())),
              std::string::npos)
      << error.what();
  }
}

TEST_P(Journal, knows_what_shared_values_hold) {
  Pool pool(2);
  auto at = [](const Shared<std::vector<int>>& all, const SharedArray<double>& scale,
               std::size_t i) {
    note("runs", std::to_string(i));
    return all->at(i) * scale[0];
  };
  auto map = [&](int first, double scale) {
    auto all = share(std::vector<int>{first, 1, 2});
    auto array = share(std::span<const double>(&scale, 1));
    return pool.map(fiber::bind(at, all, array), indices(3), {.journal = path()});
  };
  auto values = map(5, 2);
  EXPECT_EQ(map(5, 2), values);
  EXPECT_EQ(ran(), 3U);
  EXPECT_THROW(map(6, 2), ConfigError);
  EXPECT_THROW(map(5, 3), ConfigError);
  auto of_shared = [](const Shared<int>& value) {
    note("runs", "0");
    return *value;
  };
  for (int again = 0; again < 2; ++again)
    EXPECT_EQ(pool.map(of_shared, {share(1), share(2)}, {.journal = path("arguments")}),
              (std::vector<int>{1, 2}));
  EXPECT_EQ(ran(), 5U);
}

TEST_P(Journal, takes_no_results_that_are_handles) {
  Pool pool(1);
  auto shared = share(7);
  auto handle = [](const Shared<int>& value, int) {
    return std::vector<std::pair<int, Shared<int>>>{{1, value}};
  };
  EXPECT_THROW(pool.map(fiber::bind(handle, shared), {1, 2}, {.journal = path()}),
               ConfigError);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_P(Journal, keeps_large_results_whole) {
  Pool pool(2);
  auto grow = [](std::size_t n) {
    note("runs", std::to_string(n));
    std::vector<double> all(n * 100000);
    std::iota(all.begin(), all.end(), 0.0);
    return all;
  };
  auto first = pool.map(grow, indices(6), {.journal = path()});
  EXPECT_EQ(pool.map(grow, indices(6), {.journal = path()}), first);
  EXPECT_EQ(first[5].back(), 499999);
  EXPECT_EQ(ran(), 6U);
}

TEST_P(Journal, that_is_cut_off_anywhere_costs_what_was_behind) {
  Pool pool(2);
  pool.map(noted_f, indices(40), {.journal = path()});
  auto size = std::filesystem::file_size(path());
  for (auto cut :
       {std::uintmax_t{1}, std::uintmax_t{9}, std::uintmax_t{57}, size / 3, size - 20}) {
    std::filesystem::resize_file(path(), size - cut);
    EXPECT_EQ(pool.map(noted_f, indices(40), {.journal = path()}), undisturbed(40));
    EXPECT_EQ(std::filesystem::file_size(path()), size);
  }
  EXPECT_GT(ran(), 40U);
  EXPECT_EQ(pool.map(noted_f, indices(40), {.journal = path()}), undisturbed(40));
}

INSTANTIATE_TEST_SUITE_P(On, Journal, testing::ValuesIn(modes()), mode_name);

} // namespace
} // namespace fiber::e2e
