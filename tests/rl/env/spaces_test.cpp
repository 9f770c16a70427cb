// SPDX-License-Identifier: Apache-2.0
// An environment may have several choices at once, and may say which actions are
// possible. What does not fit together is named.

#include <array>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/archive/text_iarchive.hpp>
#include <boost/archive/text_oarchive.hpp>
#include <gtest/gtest.h>

#include "fiber/rl/cartpole.hpp"
#include "fiber/rl/environment_check.hpp"
#include "fiber/rl/pendulum.hpp"
#include "fiber/rl/policy.hpp"
#include "fiber/rl/wrappers.hpp"

namespace fiber::rl {
namespace {

/// A lock with two wheels. Pays ten times the first number, and the second one.
struct Lock {
  using Action = std::array<int, 2>;
  static constexpr Action actions{3, 2};
  static constexpr std::size_t observation_size = 1;

  void reset(std::uint64_t) {}
  Step step(Action action) {
    return {.reward = static_cast<double>(10 * action[0] + action[1])};
  }
  void observe(std::span<float> out) const { out[0] = 0; }
};

/// The first wheel can't be at 1.
struct Stuck : Lock {
  void mask(std::span<std::uint8_t> out) const {
    std::ranges::fill(out, std::uint8_t{1});
    out[1] = 0;
  }
};

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

TEST(SpacesTest, of_an_array_of_numbers_are_multi_discrete) {
  const auto lock = erase<Lock>();
  const auto spaces = lock->spaces();
  EXPECT_EQ(spaces.action_counts, (std::vector{3, 2}));
  EXPECT_EQ(spaces.actions, 0);
  EXPECT_TRUE(spaces.discrete());
  EXPECT_FALSE(spaces.masked);
  EXPECT_EQ(spaces.action_size(), 2u);
  EXPECT_EQ(spaces.logits(), 5u);
  EXPECT_EQ(spaces.mask_size(), 0u);
  EXPECT_EQ(lock->step(std::array<float, 2>{2, 1}).reward, 21);
  EXPECT_EQ(error_of([&] {
              lock->step(std::array<float, 2>{1, 2});
            }),
            "no choice 2 of component 1 of the action; there are 0 to 1");
  EXPECT_EQ(error_of([&] { lock->step(std::array<float, 1>{1}); }),
            "an action has 2 choices, not 1");
}

TEST(SpacesTest, of_a_class_with_a_mask_are_masked) {
  const auto stuck = erase<Stuck>();
  EXPECT_TRUE(stuck->spaces().masked);
  EXPECT_EQ(stuck->spaces().mask_size(), 5u);
  std::vector<std::uint8_t> mask(5, 7);
  stuck->mask(mask);
  EXPECT_EQ(mask, (std::vector<std::uint8_t>{1, 0, 1, 1, 1}));
  erase<Lock>()->mask(mask);
  EXPECT_EQ(mask, std::vector<std::uint8_t>(5, 1));
  EXPECT_NE(spaces_of(Stuck()), spaces_of(Lock()));
}

TEST(SpacesTest, of_wrappers_are_those_of_the_environment) {
  const FrameStack<TimeLimit<Stuck, 9>, 3> wrapped;
  EXPECT_TRUE(spaces_of(wrapped).masked);
  EXPECT_EQ(spaces_of(wrapped).action_counts, (std::vector{3, 2}));
  EXPECT_TRUE(spaces_of(FrameStack<Stuck>(2)).masked);
  EXPECT_FALSE((spaces_of(TimeLimit<Lock, 9>()).masked));
  std::array<std::uint8_t, 5> mask{};
  wrapped.mask(mask);
  EXPECT_EQ(mask[1], 0);
  EXPECT_EQ(mask[2], 1);
  static_assert(!ContinuousEnvironment<Lock> && ContinuousEnvironment<Pendulum>);
  static_assert(!detail::Masking<TimeLimit<CartPole, 9>>);
}

TEST(SpacesTest, that_do_not_fit_together_are_refused) {
  const auto refused = [](Spaces spaces) {
    spaces.observation_shape = {1};
    return error_of([&] { PolicySpec{.spaces = spaces}.check(); });
  };
  EXPECT_EQ(refused({.observation_shape = {}, .action_counts = {3, 0}}),
            "the environment of a policy has 0 choices in component 1 of its "
            "multi-discrete actions; there must be 1 to 16777216");
  EXPECT_NE(refused({.observation_shape = {}, .actions = 2, .action_counts = {3}})
              .find("has actions of two kinds: set only one of Spaces::actions"),
            std::string::npos);
  EXPECT_EQ(
    refused(
      {.observation_shape = {}, .action_low = {-1}, .action_high = {1}, .masked = true}),
    "the environment of a policy is masked, which only discrete and "
    "multi-discrete actions can be");
}

/// What Spaces were before they had action_counts and masked.
struct OldSpaces {
  std::vector<std::size_t> observation_shape;
  int actions = 0;
  std::vector<float> action_low, action_high;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& observation_shape& actions& action_low& action_high;
  }
};

TEST(SpacesTest, of_files_of_before_are_read) {
  std::stringstream file;
  boost::archive::text_oarchive(file) << OldSpaces{{4, 2}, 0, {-1, -2}, {1, 2}};
  Spaces read{.observation_shape = {}, .action_counts = {1}, .masked = true};
  boost::archive::text_iarchive(file) >> read;
  EXPECT_EQ(read.observation_shape, (std::vector<std::size_t>{4, 2}));
  EXPECT_EQ(read.action_high, (std::vector<float>{1, 2}));
  file = {};
  const auto now = spaces_of(Stuck());
  boost::archive::text_oarchive(file) << now;
  boost::archive::text_iarchive(file) >> read;
  EXPECT_EQ(read, now);
}

/// Forbids a whole wheel from the third step on.
struct Jammed : Stuck {
  Step step(Action) { return {.terminated = ++steps == 5}; }
  void mask(std::span<std::uint8_t> out) const {
    Stuck::mask(out);
    if (steps >= 2)
      out[3] = out[4] = 0;
  }
  int steps = 0;
};
struct WritesTwo : Stuck {
  void mask(std::span<std::uint8_t> out) const { out[0] = out[1] = 1; }
};
struct WritesMore : Stuck {
  void mask(std::span<std::uint8_t> out) const { std::fill_n(out.data(), 6, 1); }
};
struct Picky : Stuck {
  Step step(Action action) {
    if (action[0] == 1)
      throw std::logic_error("stuck");
    return {};
  }
};

TEST(SpacesTest, a_mistake_in_a_mask_is_named_before_a_training) {
  const auto error = [](auto environment) {
    return error_of(
      [&] { check_environment(*erase<decltype(environment)>(environment)); });
  };
  EXPECT_EQ(error(Picky()), "no error");
  EXPECT_EQ(error(Jammed()),
            "mask() forbids each choice of component 1 of the action "
            "after step 2 of an episode, which does not end the episode");
  EXPECT_EQ(error(WritesTwo()), "mask() must write 0 or 1 to each of its 5 bytes, and "
                                "byte 2 after reset() is not written");
  EXPECT_EQ(error(WritesMore()),
            "mask() writes more than 5 bytes: one for each choice of an action");
}

} // namespace
} // namespace fiber::rl
