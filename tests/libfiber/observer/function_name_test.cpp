// SPDX-License-Identifier: Apache-2.0
// Promise: a callable is called by the name that its source has.
#include "libfiber/observer/function_name.hpp"

#include <tuple>

#include <gtest/gtest.h>

namespace fiber::observer {

int play_a_game(int level) {
  return level;
}
int play(int level, int seed) {
  return level + seed;
}

struct Player {
  int operator()(int level) const { return level; }
};

namespace {

template <class Argument, class F>
std::string name_of(const F& f) {
  return function_name(AnyCallable::of<Argument, false>(f));
}

TEST(FunctionName, is_that_of_a_function_or_of_a_type) {
  EXPECT_EQ(name_of<int>(&play_a_game), "fiber::observer::play_a_game");
  EXPECT_EQ(name_of<int>(bind(&play, 3)), "fiber::observer::play");
  EXPECT_EQ(name_of<int>(meta(&play_a_game, {.cpu = 2})), "fiber::observer::play_a_game");
  EXPECT_EQ(name_of<int>(Player()), "fiber::observer::Player");
  EXPECT_EQ(name_of<int>(&play_a_game), "fiber::observer::play_a_game"); // Remembered.
}

TEST(FunctionName, of_a_lambda_is_where_it_is) {
  auto name = name_of<int>([](int level) { return level; });
  EXPECT_TRUE(name.starts_with("lambda in ")) << name;
}

TEST(FunctionName, comes_from_the_symbol_of_the_callable) {
  EXPECT_EQ(callable_type("fiber::detail::CallableBody<main::{lambda(int)#1}, int, "
                          "false>::open(fiber::Reader&)"),
            "lambda in main");
  EXPECT_EQ(callable_type("fiber::detail::CallableBody<double (*)(int), int, "
                          "false>::open(fiber::Reader&)"),
            "");
  EXPECT_EQ(callable_type("fiber::detail::CallableBody<fiber::BoundCallable<(anonymous "
                          "namespace)::Step<int>, int, long>, int, false>::open()"),
            "Step");
  EXPECT_EQ(callable_type("something else"), "");
}

} // namespace
} // namespace fiber::observer
