// SPDX-License-Identifier: Apache-2.0
// A callable that is packed and unpacked does what it did before.

#include "fiber/callable.hpp"

#include <dlfcn.h>

#include <string>

#include <gtest/gtest.h>

#include "base/code_place.hpp"

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

/// Packs `f` and calls what comes out with one argument.
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

TEST(Callable, resources_are_said_with_the_function) {
  auto callable = AnyCallable::of<int, false>(meta(twice, {.cpu = 2, .memory_mb = 100}));
  ASSERT_TRUE(callable.resources());
  EXPECT_EQ(callable.resources()->memory_mb, 100U);
  EXPECT_EQ((run<int, int, false>(meta(twice, {.cpu = 2}), 4)), 8);
}

TEST(CodePlace, code_of_a_shared_library_is_found_by_its_build) {
  auto* code = dlsym(RTLD_DEFAULT, "elf_version"); // Of libelf, which has a build id.
  ASSERT_NE(code, nullptr);
  Bytes bytes;
  Writer writer(bytes);
  detail::pack_code(writer, code);
  Reader reader(bytes);
  EXPECT_EQ(detail::unpack_code(reader), code);
}

TEST(CodePlace, data_is_no_code) {
  Bytes bytes;
  Writer writer(bytes);
  static int data = 0;
  EXPECT_THROW(detail::pack_code(writer, &data), Error);
}

TEST(CodePlace, a_library_that_is_not_here_is_named) {
  Bytes bytes;
  Writer writer(bytes);
  writer.text("/usr/lib/libmissing.so");
  writer.text("not a build id");
  writer.put(std::uint64_t{64});
  Reader reader(bytes);
  try {
    detail::unpack_code(reader);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("/usr/lib/libmissing.so"),
              std::string::npos);
  }
}

TEST(CodePlace, an_offset_outside_of_code_is_refused) {
  Bytes bytes;
  Writer writer(bytes);
  detail::pack_code(writer, reinterpret_cast<const void*>(&twice));
  auto offset = std::uint64_t{1} << 40;
  std::memcpy(bytes.data() + bytes.size() - sizeof offset, &offset, sizeof offset);
  Reader reader(bytes);
  EXPECT_THROW(detail::unpack_code(reader), Error);
}

TEST(CodePlace, the_executable_has_a_build_id) {
  EXPECT_GE(fiber::build_id().size(), 16U);
}

} // namespace
} // namespace fiber
