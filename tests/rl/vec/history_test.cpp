// SPDX-License-Identifier: Apache-2.0
// The promise: the memory that episodes take is bounded, however long they are. What was
// too long to keep is flagged, and costs that episode alone.

#include <csignal>
#include <sstream>

#include <boost/archive/text_iarchive.hpp>
#include <boost/archive/text_oarchive.hpp>
#include <gtest/gtest.h>

#include "fiber/error.hpp"
#include "rl/vec/episode_book.hpp"
#include "tests/e2e/support/fixture.hpp"
#include "tests/rl/vec/puppet.hpp"

namespace fiber::rl::tests {
namespace {

class VecEnvHistories : public e2e::SessionTest {};

using Floats = std::vector<float>;

TEST(VecEnvHistory, of_endless_episodes_stays_within_its_limit) {
  constexpr std::size_t envs = 64, limit = 1000, steps = 100'000;
  const VecEnvOptions options{.envs = envs, .history_limit = limit};
  const Spaces spaces{
    .observation_shape = {1}, .action_low = {-1, -1, -1}, .action_high = {1, 1, 1}};
  vec::Rows rows({.envs = envs, .jobs = 0, .observation_size = 1, .action_size = 3},
                 false);
  vec::EpisodeBook book(options, spaces, rows);
  auto order = [&](detail::Op op) {
    const Floats action = {0.5F, 0.25F, 0};
    for (int id = 0; id < static_cast<int>(envs); ++id) {
      book.order(id, op, action);
      book.accept(id);
      book.land(id);
    }
  };
  order(detail::Op::reset);
  for (std::size_t step = 0; step < limit; ++step)
    order(detail::Op::step);
  EXPECT_EQ(book.history(5).actions.size(), 3 * limit);
  EXPECT_FALSE(book.state().envs[5].forgotten);
  EXPECT_LE(book.kept(), envs * 3 * limit * 2); // A vector has room for twice as many.
  for (std::size_t step = limit; step < steps; ++step)
    order(detail::Op::step);
  EXPECT_EQ(book.kept(), 0U);
  EXPECT_TRUE(book.state().envs[5].forgotten);
  order(detail::Op::reset);
  order(detail::Op::step);
  EXPECT_EQ(book.history(5).actions.size(), 3U);
  EXPECT_FALSE(book.state().envs[5].forgotten);
}

/// Environment 0 in an episode that is too long, and environment 1 in one that is not.
void play(AnyVecEnv& envs) {
  envs.reset();
  for (int step = 0; step < 4; ++step)
    envs.step(Floats(2));
  envs.step(Floats{0, Puppet::terminate});
  envs.step(Floats(2));
}

TEST_F(VecEnvHistories, that_are_too_long_are_flagged_in_a_state) {
  open();
  for (const auto way : {Way::here, Way::shared_memory, Way::messages}) {
    VecEnvOptions options{.envs = 2, .jobs = 2, .seed = 8, .history_limit = 5};
    auto envs = vec_env<Puppet>(options, way);
    play(envs);
    const auto state = envs.state();
    EXPECT_TRUE(state.envs[0].forgotten);
    EXPECT_TRUE(state.envs[0].actions.empty());
    EXPECT_FALSE(state.envs[1].forgotten);
    EXPECT_EQ(envs.step(Floats(2)).episode_length(0), 7); // The run continues.
    auto other = vec_env<Puppet>(options, way);
    const auto* batch = &other.restore(state);
    EXPECT_EQ(batch->valid[0], 0);
    EXPECT_EQ(batch->truncated[0], 1);
    EXPECT_EQ(batch->observation(0)[0], 0);
    EXPECT_EQ(batch->observation(0)[1], shown_seed(8, 0, 1));
    EXPECT_EQ(batch->valid[1], 1);
    EXPECT_EQ(batch->observation(1)[0], 1);
    batch = &other.step(Floats(2));
    EXPECT_EQ(batch->episode_length(0), 1);
    EXPECT_EQ(batch->episode_length(1), 2);
    EXPECT_FALSE(other.state().envs[0].forgotten);
  }
}

TEST_F(VecEnvHistories, that_are_too_long_are_lost_with_their_job) {
  open();
  for (const auto way : job_ways) {
    auto envs = vec_env<Puppet>(
      {.envs = 2, .jobs = 1, .seed = 8, .replay = true, .history_limit = 5}, way);
    play(envs);
    ::kill(await_jobs(1).front(), SIGKILL);
    const auto* batch = &envs.step(Floats(2));
    if (batch->valid[0] == 1) // The step came before the signal.
      batch = &envs.step(Floats(2));
    EXPECT_EQ(batch->valid[0], 0);
    EXPECT_EQ(batch->observation(0)[1], shown_seed(8, 0, 1));
    EXPECT_EQ(batch->valid[1], 1);
    EXPECT_GE(batch->episode_length(1), 2);
  }
}

TEST_F(VecEnvHistories, are_not_kept_with_the_limit_0) {
  VecEnvOptions options{.envs = 2, .history_limit = 0};
  auto envs = vec_env<Puppet>(options, Way::here);
  envs.reset();
  EXPECT_FALSE(envs.state().envs[0].forgotten); // There was no action.
  envs.step(Floats(2));
  EXPECT_TRUE(envs.state().envs[0].forgotten);
  options.replay = true;
  try {
    vec_env<Puppet>(options, Way::here);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.key(), "history_limit");
  }
}

TEST_F(VecEnvHistories, of_states_that_contradict_themselves_are_refused) {
  auto envs = vec_env<Puppet>({.envs = 1}, Way::here);
  envs.reset();
  auto state = envs.state();
  state.envs[0].forgotten = true;
  state.envs[0].actions = {0};
  EXPECT_THROW(envs.restore(state), std::invalid_argument);
}

/// A VecEnvState as it was saved before there were limits.
struct OldState {
  struct Env {
    std::uint64_t episodes = 2;
    std::vector<float> actions = {1, 2};
    bool done = false;
    template <class Archive>
    void serialize(Archive& archive, unsigned) {
      archive& episodes& actions& done;
    }
  };
  std::uint64_t seed = 7;
  std::vector<Env> envs = std::vector<Env>(2);
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& seed& envs;
  }
};

TEST_F(VecEnvHistories, of_older_files_are_read) {
  std::stringstream file;
  const OldState old;
  boost::archive::text_oarchive(file) << old;
  VecEnvState read;
  boost::archive::text_iarchive(file) >> read;
  EXPECT_EQ(read.seed, 7U);
  ASSERT_EQ(read.envs.size(), 2U);
  EXPECT_EQ(read.envs[1].episodes, 2U);
  EXPECT_EQ(read.envs[1].actions, (Floats{1, 2}));
  EXPECT_FALSE(read.envs[1].forgotten);
}

} // namespace
} // namespace fiber::rl::tests
