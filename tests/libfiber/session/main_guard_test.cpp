// SPDX-License-Identifier: Apache-2.0
// What ends a program's main, and with which exit code.

#include "fiber/main_guard.hpp"

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "fiber/error.hpp"

namespace fiber {
namespace {

TEST(MainGuard, returns_what_the_body_returns) {
  EXPECT_EQ(main_guard([] { return 7; }), 7);
  EXPECT_EQ(main_guard([] {}), 0);
}

TEST(MainGuard, tells_of_an_exception_and_returns_1) {
  testing::internal::CaptureStderr();
  auto code = main_guard([]() -> int { throw Error("no worker can start"); });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "error: no worker can start\n");
  EXPECT_EQ(code, 1);
}

TEST(MainGuard, ends_what_the_body_holds_before_it_tells) {
  struct Session {
    ~Session() { std::fputs("session ends\n", stderr); }
  };
  testing::internal::CaptureStderr();
  main_guard([] {
    Session session;
    throw std::out_of_range("no such weight");
  });
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "session ends\nerror: no such weight\n");
}

TEST(MainGuard, takes_a_null_what_for_an_empty_text) {
  struct Silent : std::exception {
    const char* what() const noexcept override { return nullptr; }
  };
  testing::internal::CaptureStderr();
  EXPECT_EQ(main_guard([] { throw Silent(); }), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "error: \n");
}

TEST(MainGuard, lets_what_is_no_exception_class_pass) {
  EXPECT_THROW(main_guard([] { throw 3; }), int);
}

} // namespace
} // namespace fiber
