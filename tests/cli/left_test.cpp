// SPDX-License-Identifier: Apache-2.0
// The promise: what a session has left on an engine is asked for until it is gone, and
// what stays is told.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/engines/left.hpp"
#include "fiber/error.hpp"

namespace fiber::cli {
namespace {

using Names = std::vector<std::string>;
using std::chrono::milliseconds;

constexpr std::chrono::seconds patience{100};

/// An engine that removes its one object when it is asked for the `needed`th time, and
/// refuses before.
struct Engine {
  int needed = 1;
  std::string refusal = {};
  std::vector<bool> asked = {}; // Each time: whether it was asked before.

  Left left(milliseconds end_limit, milliseconds ask_again = {}) {
    return {.list = [this] { return is_empty() ? Names{} : Names{"thing 1"}; },
            .remove =
              [this](bool again) {
                asked.push_back(again);
                return is_empty() ? "" : refusal;
              },
            .end_limit = end_limit,
            .ask_again = ask_again};
  }
  bool is_empty() const { return static_cast<int>(asked.size()) >= needed; }
};

TEST(Left, is_removed_by_one_request_if_that_is_enough) {
  Engine engine;
  EXPECT_EQ(remove_left(engine.left(patience)), Names());
  EXPECT_EQ(engine.asked, std::vector<bool>{false});
}

TEST(Left, is_asked_for_again_while_the_engine_refuses) {
  Engine engine{.needed = 3, .refusal = "it is just ending"};
  EXPECT_EQ(remove_left(engine.left(patience)), Names());
  EXPECT_EQ(engine.asked, (std::vector<bool>{false, true, true}));
}

TEST(Left, that_stays_is_returned) {
  Engine engine{.needed = 1000};
  EXPECT_EQ(remove_left(engine.left(milliseconds(1))), Names{"thing 1"});
}

TEST(Left, that_stays_is_an_error_with_the_refusal_of_the_engine) {
  Engine engine{.needed = 1000, .refusal = "it is just ending"};
  try {
    remove_left(engine.left(milliseconds(1)));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "it is just ending");
  }
}

TEST(Left, is_asked_for_again_only_after_the_engines_time) {
  Engine engine{.needed = 1000};
  remove_left(engine.left(milliseconds(500), patience));
  EXPECT_EQ(engine.asked, std::vector<bool>{false});
}

} // namespace
} // namespace fiber::cli
