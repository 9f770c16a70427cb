// SPDX-License-Identifier: Apache-2.0
// The promise: a callable does the same after packing and unpacking.

#include "fiber/callable.hpp"

#include <libelf.h>

#include <string>

#include <gtest/gtest.h>

namespace fiber {
namespace {

int twice(int x) {
  return 2 * x;
}
int add(int a, int b) {
  return a + b;
}
int change(int& x) {
  return ++x;
}

struct Adder {
  int more = 0;
  int operator()(int x) const { return x + more; }
};

/// Packs and unpacks `f`, and calls it with one argument.
template <class R, class Argument, bool spread, class F>
R run(F f, const Argument& argument) {
  auto callable = AnyCallable::of<Argument, spread>(f);
  Reader state(callable.state().bytes());
  auto body = callable.open()(state);
  Bytes in, out;
  Writer writer(in);
  pack(writer, argument);
  Reader arguments(in);
  Writer result(out);
  body->run(arguments, result);
  Reader reader(out);
  return unpack<R>(reader);
}

TEST(Callable, functions_lambdas_and_function_objects_travel) {
  EXPECT_EQ((run<int, int, false>(twice, 4)), 8);
  EXPECT_EQ((run<int, int, false>([](int x) { return x - 1; }, 4)), 3);
  EXPECT_EQ((run<int, int, false>([](auto x) { return x - 1; }, 4)), 3);
  EXPECT_EQ((run<int, int, false>(Adder{10}, 4)), 14);
  EXPECT_EQ((run<std::string, std::string, false>(
              [](const std::string& s) { return s + "!"; }, std::string("hi"))),
            "hi!");
}

TEST(Callable, bound_arguments_come_first_and_stay) {
  EXPECT_EQ((run<int, int, false>(fiber::bind(add, 10), 4)), 14);
  EXPECT_EQ((run<int, std::tuple<>, true>(fiber::bind(add, 10, 5), std::tuple<>{})), 15);
  auto counts = [](const std::vector<int>& all, int x) {
    return static_cast<int>(all.size()) + x;
  };
  EXPECT_EQ((run<int, int, false>(fiber::bind(counts, std::vector<int>{1, 2, 3}), 4)), 7);
  EXPECT_EQ(
    (run<std::string, std::string, false>(
      fiber::bind([](const std::string& a, const std::string& b) { return a + b; },
                  "literal "),
      std::string("x"))),
    "literal x");
}

TEST(Callable, a_tuple_is_spread_over_the_parameters) {
  EXPECT_EQ((run<int, std::tuple<int, int>, true>(add, {1, 2})), 3);
  EXPECT_EQ((run<int, std::pair<int, int>, true>(add, {1, 2})), 3);
}

TEST(Callable, a_parameter_may_be_changed) {
  EXPECT_EQ((run<int, int, false>(change, 4)), 5);
}

TEST(Callable, resources_are_declared_with_the_function) {
  auto callable = AnyCallable::of<int, false>(meta(twice, {.cpu = 2, .memory_mb = 100}));
  ASSERT_TRUE(callable.resources());
  EXPECT_EQ(callable.resources()->memory_mb, 100U);
  EXPECT_EQ((run<int, int, false>(meta(twice, {.cpu = 2}), 4)), 8);
}

TEST(Callable, in_a_callable_travels_too) {
  auto sum = [](int a, int b, int c) { return a + b + c; };
  EXPECT_EQ((run<int, int, false>(fiber::bind(fiber::bind(sum, 1), 2), 4)), 7);
  auto call = [](BoundCallable<int (*)(int, int), int> f, int x) { return f(x); };
  EXPECT_EQ((run<int, int, false>(fiber::bind(call, fiber::bind(add, 10)), 4)), 14);
  EXPECT_EQ((run<int, int, false>(meta(fiber::bind(add, 10), {}), 4)), 14);
}

TEST(Callable, a_pointer_may_lead_to_a_lambda_or_into_a_library) {
  EXPECT_EQ((run<int, int, false>(
              +[](int x) { return x - 1; }, 4)),
            3);
  EXPECT_EQ((run<unsigned, unsigned, false>(&::elf_version, unsigned{EV_NONE})),
            unsigned{EV_CURRENT});
}

} // namespace
} // namespace fiber
