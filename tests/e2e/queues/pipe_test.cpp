// SPDX-License-Identifier: Apache-2.0
// The promise: what one end of a pipe sends the other one receives, in order, typed; and
// each end learns when the other one is gone.
#include <csignal>
#include <map>
#include <string>
#include <vector>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/support/modes.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;
using fiber::Process; // Not that of processes.hpp.

class EveryPipe : public EveryMode {};

TEST_P(EveryPipe, carries_values_of_any_types_both_ways) {
  auto [ours, theirs] = pipe();
  ours.send(1);
  ours.send("two");
  ours.send(std::vector<double>{3, 4});
  EXPECT_EQ(theirs.recv<int>(), 1);
  EXPECT_EQ(theirs.recv<std::string>(), "two");
  theirs.send(std::map<std::string, int>{{"five", 5}});
  EXPECT_EQ(theirs.recv<std::vector<double>>(), (std::vector<double>{3, 4}));
  EXPECT_EQ((ours.recv<std::map<std::string, int>>(1s)),
            (std::map<std::string, int>{{"five", 5}}));
}

TEST_P(EveryPipe, leaves_a_value_of_another_type_where_it_is) {
  auto [ours, theirs] = pipe();
  ours.send(1);
  try {
    theirs.recv<std::vector<int>>();
    FAIL() << "it was taken for a vector";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("is a int"), std::string::npos)
      << error.what();
    EXPECT_NE(std::string(error.what()).find("std::vector<int"), std::string::npos)
      << error.what();
  }
  EXPECT_EQ(theirs.recv<int>(), 1);
}

TEST_P(EveryPipe, that_is_not_duplex_goes_one_way) {
  auto [receiver, sender] = pipe(false);
  sender.send(1);
  EXPECT_EQ(receiver.recv<int>(), 1);
  EXPECT_THROW(receiver.send(1), Error);
  EXPECT_THROW(sender.recv<int>(), Error);
  EXPECT_THROW(sender.poll(), Error);
  Pool pool(1);
  pool.apply([](Connection end) { end.send(2); }, sender);
  EXPECT_EQ(receiver.recv<int>(), 2);
}

TEST_P(EveryPipe, polls) {
  auto [ours, theirs] = pipe();
  EXPECT_FALSE(ours.poll());
  EXPECT_FALSE(ours.poll(20ms));
  theirs.send(1);
  EXPECT_TRUE(ours.poll(deadline));
  EXPECT_EQ(ours.recv<int>(0ms), 1);
  EXPECT_EQ(ours.recv<int>(20ms), std::nullopt);
}

TEST_P(EveryPipe, answers_a_task) {
  auto [ours, theirs] = pipe();
  auto task = async(
    [](Connection end) {
      for (auto x = end.recv<int>(); x >= 0; x = end.recv<int>())
        end.send(x * x);
    },
    theirs);
  if (in_process()) { // There the task only runs while somebody waits for it.
    for (int i : {1, 2, 3, -1})
      ours.send(i);
    task.get();
    for (int i : {1, 2, 3})
      EXPECT_EQ(ours.recv<int>(), i * i);
    return;
  }
  for (int i = 0; i < 100; ++i) {
    ours.send(i);
    EXPECT_EQ(ours.recv<int>(), i * i);
  }
  ours.send(-1);
  task.get();
}

TEST_P(EveryPipe, drains_when_the_other_end_is_closed) {
  auto [ours, theirs] = pipe();
  ours.send(1);
  ours.close();
  EXPECT_THROW(ours.send(2), Closed);
  EXPECT_THROW(ours.recv<int>(), Closed);
  EXPECT_EQ(theirs.recv<int>(), 1);
  EXPECT_TRUE(theirs.poll(deadline));
  EXPECT_THROW(theirs.recv<int>(), Closed);
}

TEST_P(EveryPipe, closes_an_end_that_nobody_holds) {
  auto ends = std::make_unique<std::pair<Connection, Connection>>(pipe());
  auto ours = ends->first;
  ends->second.send(1);
  ends = nullptr;
  EXPECT_EQ(ours.recv<int>(), 1);
  EXPECT_THROW(ours.recv<int>(), Closed);
}

INSTANTIATE_TEST_SUITE_P(Modes, EveryPipe, testing::ValuesIn(modes()), mode_name);

class PipeOfJobs : public EveryMode {};

TEST_P(PipeOfJobs, closes_an_end_whose_only_holder_is_killed) {
  auto ends = std::make_unique<std::pair<Connection, Connection>>(pipe());
  auto ours = ends->first;
  Process process(
    [](Connection end) {
      end.send(1);
      note_and_wait("holds");
    },
    ends->second);
  ends = nullptr;
  process.start();
  EXPECT_EQ(ours.recv<int>(), 1);
  noted("holds");
  process.kill();
  EXPECT_THROW(ours.recv<int>(), Closed);
}

TEST_P(PipeOfJobs, joins_two_jobs) {
  auto [left, right] = pipe();
  auto ping = async(
    [](Connection end) {
      int sum = 0;
      for (int i = 0; i < 200; ++i) {
        end.send(i);
        sum += end.recv<int>();
      }
      return sum;
    },
    left);
  auto pong = async(
    [](Connection end) {
      for (int i = 0; i < 200; ++i)
        end.send(end.recv<int>() + 1);
    },
    right);
  EXPECT_EQ(ping.get(), 199 * 200 / 2 + 200);
  pong.get();
}

INSTANTIATE_TEST_SUITE_P(Modes, PipeOfJobs,
                         testing::ValuesIn(std::vector<Mode>{{"local", {}},
                                                             {"tls", {.link = "tls"}}}),
                         mode_name);

} // namespace
} // namespace fiber::e2e
