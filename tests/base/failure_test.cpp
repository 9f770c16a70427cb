// SPDX-License-Identifier: Apache-2.0
// The promise: every exception of the standard library comes back as itself, once, with
// what it said and its causes. Types of one name in two files are two types.

#include "base/failure.hpp"

#include <any>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <regex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <typeinfo>
#include <variant>

#include <gtest/gtest.h>

#include "base/terminal_text.hpp"
#include "fiber/detail/type_identity.hpp"
#include "fiber/remote_error.hpp"
#include "tests/base/same_name.hpp"

namespace fiber {
namespace {

namespace fs = std::filesystem;

/// Captures what `f` throws, as in a job, and sends it.
template <class F>
Failure failure_of(F f) {
  try {
    f();
  } catch (...) {
    Bytes bytes;
    Writer writer(bytes);
    pack_failure(writer, capture_failure());
    Reader reader(bytes);
    return unpack_failure(reader);
  }
  throw std::logic_error("nothing was thrown");
}

/// What the library throws there, with the text that it gave, and once only.
template <class E, class F, class Check>
void expect_back(F f, Check check) {
  std::optional<E> original;
  const std::type_info* type = nullptr;
  try {
    f();
  } catch (const E& error) {
    original.emplace(error);
    type = &typeid(error);
  }
  ASSERT_TRUE(original.has_value());
  auto failure = failure_of(f);
  EXPECT_EQ(failure.what, original->what());
  try {
    rethrow(failure);
    FAIL() << failure.type << " was not thrown again";
  } catch (const E& error) {
    EXPECT_EQ(typeid(error), *type) << typeid(error).name();
    EXPECT_STREQ(error.what(), original->what());
    check(*original, error);
  }
}
template <class E, class F>
void expect_back(F f) {
  expect_back<E>(f, [](auto&, auto&) {});
}
constexpr auto same_code = [](auto& original, auto& error) {
  EXPECT_EQ(error.code(), original.code());
};

template <class E>
void expect_text_back() {
  expect_back<E>([] { throw E("it is so"); });
  expect_back<E>([] { throw E(""); });
}
template <class E>
void expect_plain_back() {
  expect_back<E>([] { throw E(); });
}

TEST(StandardException, with_a_text_comes_back) {
  expect_text_back<std::logic_error>();
  expect_text_back<std::domain_error>();
  expect_text_back<std::invalid_argument>();
  expect_text_back<std::length_error>();
  expect_text_back<std::out_of_range>();
  expect_text_back<std::runtime_error>();
  expect_text_back<std::range_error>();
  expect_text_back<std::overflow_error>();
  expect_text_back<std::underflow_error>();
  expect_text_back<Error>();
#ifdef __cpp_lib_format
  expect_text_back<std::format_error>();
#endif
}

TEST(StandardException, without_a_text_comes_back) {
  expect_plain_back<std::exception>();
  expect_plain_back<std::bad_exception>();
  expect_plain_back<std::bad_alloc>();
  expect_plain_back<std::bad_array_new_length>();
  expect_plain_back<std::bad_cast>();
  expect_plain_back<std::bad_typeid>();
  expect_plain_back<std::bad_any_cast>();
  expect_plain_back<std::bad_function_call>();
  expect_plain_back<std::bad_optional_access>();
  expect_plain_back<std::bad_variant_access>();
  expect_plain_back<std::bad_weak_ptr>();
}

TEST(StandardException, that_the_library_throws_comes_back) {
  expect_back<std::bad_any_cast>([] { std::any_cast<int>(std::any(1.5)); });
  expect_back<std::bad_function_call>([] { std::function<void()>()(); });
  expect_back<std::bad_weak_ptr>([] { std::shared_ptr<int>(std::weak_ptr<int>()); });
  expect_back<std::out_of_range>([] { static_cast<void>(std::string("short").at(99)); });
  expect_back<std::invalid_argument>([] { std::stoi("none"); });
  expect_back<std::bad_variant_access>(
    [] { std::get<int>(std::variant<int, char>('c')); });
}

#if __cpp_lib_chrono >= 201907L
TEST(StandardException, about_a_local_time_comes_back) {
  using namespace std::chrono;
  local_info info{};
  info.result = local_info::nonexistent;
  expect_back<nonexistent_local_time>(
    [&] { throw nonexistent_local_time(local_seconds(5s), info); });
  info.result = local_info::ambiguous;
  expect_back<ambiguous_local_time>(
    [&] { throw ambiguous_local_time(local_seconds(5s), info); });
}
#endif

struct ThrowsOnCopy {
  ThrowsOnCopy() = default;
  [[noreturn]] ThrowsOnCopy(const ThrowsOnCopy&) { throw std::logic_error("no copy"); }
  ThrowsOnCopy& operator=(const ThrowsOnCopy&) = default;
};
using Valueless = std::variant<int, ThrowsOnCopy>;
Valueless valueless() {
  Valueless value(1);
  try {
    const ThrowsOnCopy source;
    value.emplace<ThrowsOnCopy>(source);
  } catch (const std::logic_error&) {
  }
  return value;
}

TEST(StandardException, bad_variant_access_says_why) {
  expect_back<std::bad_variant_access>([] { std::get<0>(valueless()); });
  expect_back<std::bad_variant_access>([] { std::visit([](auto&&) {}, valueless()); });
  expect_back<std::bad_variant_access>(
    [] { std::visit<void>([](auto&&) {}, valueless()); });
}

TEST(StandardException, with_a_code_comes_back_with_its_text_once) {
  auto code = std::make_error_code(std::errc::no_such_file_or_directory);
  expect_back<std::system_error>([&] { throw std::system_error(code); }, same_code);
  expect_back<std::system_error>([&] { throw std::system_error(code, "open"); },
                                 same_code);
  expect_back<std::system_error>(
    [] { throw std::system_error(3, std::system_category(), ""); }, same_code);
  expect_back<std::ios_base::failure>([] { throw std::ios_base::failure("disk"); },
                                      same_code);
  expect_back<std::ios_base::failure>([&] { throw std::ios_base::failure("disk", code); },
                                      same_code);
  expect_back<std::ios_base::failure>(
    [] {
      std::ifstream file("/none");
      file.exceptions(std::ios::failbit);
    },
    same_code);
  expect_back<std::future_error>(
    [] { throw std::future_error(std::future_errc::broken_promise); }, same_code);
  expect_back<std::future_error>([] { std::future<int>().get(); }, same_code);
  expect_back<std::regex_error>([] { std::regex("a[b"); }, same_code);
}

TEST(StandardException, filesystem_error_comes_back_with_its_paths) {
  auto code = std::make_error_code(std::errc::io_error);
  auto same = [](const fs::filesystem_error& original,
                 const fs::filesystem_error& error) {
    EXPECT_EQ(error.path1(), original.path1());
    EXPECT_EQ(error.path2(), original.path2());
    EXPECT_EQ(error.code(), original.code());
    EXPECT_STREQ(error.std::system_error::what(), original.std::system_error::what());
  };
  using E = fs::filesystem_error;
  expect_back<E>([&] { throw E("copy", "/a", "/b", code); }, same);
  expect_back<E>([&] { throw E("read", "/a", code); }, same);
  expect_back<E>([&] { throw E("wait", code); }, same);
  expect_back<E>([&] { throw E("empty", "", "", code); }, same);
  expect_back<E>([&] { throw E("empty", "", code); }, same);
  expect_back<E>([] { static_cast<void>(fs::file_size("/none")); }, same);
  expect_back<E>([] { fs::copy("/none", "/nowhere"); }, same);
}

class OwnCategory : public std::error_category {
public:
  const char* name() const noexcept override { return "own"; }
  std::string message(int) const override { return "its own words"; }
};

TEST(StandardException, with_a_category_of_the_program_is_described_only) {
  static const OwnCategory own;
  auto failure = failure_of([] { throw std::system_error(7, own, "start"); });
  EXPECT_EQ(failure.what, "start: its own words");
  EXPECT_NO_THROW(rethrow(failure));
}

class Silent : public std::exception {
public:
  const char* what() const noexcept override { return nullptr; }
};

TEST(Failure, of_an_exception_whose_what_is_null_has_an_empty_text) {
  auto failure = failure_of([] { throw Silent(); });
  EXPECT_EQ(failure.what, "");
  EXPECT_NE(failure.type.find("Silent"), std::string::npos);
}

// -- causes --

[[noreturn]] void fail_twice() {
  try {
    throw std::out_of_range("no 17th");
  } catch (...) {
    std::throw_with_nested(std::runtime_error("cannot load"));
  }
}
[[noreturn]] void fail_three_times() {
  try {
    fail_twice();
  } catch (...) {
    std::throw_with_nested(std::system_error(5, std::generic_category(), "start"));
  }
}

TEST(RemoteErrorText, is_harmless_on_a_terminal_and_whole_by_accessor) {
  const std::string orders = "\x1b]0;title\x07\x1b[2J first\nsecond\r";
  const Failure failure{
    .type = "std::runtime_error", .what = orders, .name = {}, .state = {}};
  const RemoteError of_task(failure, 3, 1, "worker-\x1b[1m"), of_call(failure);
  const WorkerLost lost(3, 1, {1}, orders), of_ring(orders, 2, {1}, orders, {});
  const BackendError refused(orders, 0, orders);
  for (const std::exception* error : std::initializer_list<const std::exception*>{
         &of_task, &of_call, &lost, &of_ring, &refused}) {
    const std::string_view what = error->what();
    EXPECT_EQ(what, for_terminal(what, Passing::lines));
    EXPECT_NE(what.find("\\x1b[2J first\nsecond\\r"), what.npos) << what;
  }
  EXPECT_EQ(of_task.message(), orders);
  EXPECT_EQ(of_call.message(), orders);
}

TEST(Cause, is_in_the_text) {
  auto failure = failure_of(fail_twice);
  EXPECT_EQ(failure.type, "std::runtime_error");
  EXPECT_EQ(failure.what, "cannot load; caused by std::out_of_range: no 17th");
}

TEST(Cause, comes_back_with_its_own_cause) {
  auto failure = failure_of(fail_three_times);
  try {
    rethrow(failure);
    FAIL();
  } catch (const std::system_error& outer) {
    EXPECT_EQ(outer.code().value(), 5);
    EXPECT_EQ(std::string(outer.what()).find("cannot"), std::string::npos);
    try {
      std::rethrow_if_nested(outer);
      FAIL();
    } catch (const std::runtime_error& middle) {
      EXPECT_STREQ(middle.what(), "cannot load");
      try {
        std::rethrow_if_nested(middle);
        FAIL();
      } catch (const std::out_of_range& inner) {
        EXPECT_STREQ(inner.what(), "no 17th");
      }
    }
  }
}

TEST(Cause, of_an_unknown_type_is_a_remote_error) {
  auto failure = failure_of([] {
    try {
      throw Silent();
    } catch (...) {
      std::throw_with_nested(std::bad_alloc());
    }
  });
  try {
    rethrow(failure);
    FAIL();
  } catch (const std::bad_alloc& outer) {
    EXPECT_THROW(std::rethrow_if_nested(outer), RemoteError);
  }
}

TEST(Cause, is_absent_where_there_was_none) {
  auto failure = failure_of([] { std::throw_with_nested(std::runtime_error("alone")); });
  EXPECT_EQ(failure.what, "alone");
  try {
    throw 1;
  } catch (int) { // As where rethrow_original() is called: it is no cause.
    try {
      rethrow(failure);
      FAIL();
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "alone");
      EXPECT_NO_THROW(std::rethrow_if_nested(error));
    }
  }
}

TEST(Cause, that_lies_too_deep_is_left_out) {
  std::function<void(int)> fail = [&](int depth) {
    if (depth == 0)
      throw std::out_of_range("the first");
    try {
      fail(depth - 1);
    } catch (...) {
      std::throw_with_nested(std::runtime_error(std::to_string(depth)));
    }
  };
  auto failure = failure_of([&] { fail(500); });
  EXPECT_NE(failure.what.find("caused by std::runtime_error: 490"), std::string::npos);
  EXPECT_EQ(failure.what.find("the first"), std::string::npos);
  EXPECT_THROW(rethrow(failure), std::runtime_error);
}

// -- types of the same name --

TEST(SameName, in_two_files_is_thrown_again_as_the_type_that_was_thrown) {
  auto one = failure_of(one_file::fail), other = failure_of(other_file::fail);
  EXPECT_EQ(one.type, other.type);
  EXPECT_EQ(one_file::rethrown(one), "of one file");
  EXPECT_EQ(other_file::rethrown(other), "of the other file");
  EXPECT_EQ(one_file::rethrown(other), "not mine");
  EXPECT_EQ(other_file::rethrown(one), "not mine");
}

TEST(SameName, in_two_files_is_two_types) {
  using namespace detail;
  auto one = one_file::identity(), other = other_file::identity();
  EXPECT_NE(one, other);
  EXPECT_FALSE(same_identity(one, other));
  EXPECT_TRUE(same_identity(one, one));
  EXPECT_EQ(name_in_identity(one), "fiber::(anonymous namespace)::Failed");
  EXPECT_EQ(two_types(one, ", not ", other),
            "a fiber::(anonymous namespace)::Failed, not a fiber::(anonymous "
            "namespace)::Failed of another file");
}

TEST(SameName, in_two_builds_may_be_one_type) {
  EXPECT_TRUE(detail::same_identity("N1AE@0123:40", "N1AE@4567:80"));
  EXPECT_TRUE(detail::same_identity("N1AE", "N1AE@4567:80")); // Of an older version.
  EXPECT_FALSE(detail::same_identity("N1AE@0123:40", "N1BE@4567:40"));
}

TEST(TypeIdentity, of_a_type_that_has_its_name_alone_is_the_name) {
  EXPECT_EQ(detail::type_identity<int>(), "i");
  EXPECT_EQ(detail::type_identity<Error>(), typeid(Error).name());
}

} // namespace
} // namespace fiber
