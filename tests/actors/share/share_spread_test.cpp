// SPDX-License-Identifier: Apache-2.0
// The promise: every job that lives gets the value, whatever befalls the others; and the
// driver sends it twice, as long as jobs can reach each other.

#include "actors/share/share_spread.hpp"

#include <deque>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.hpp"

namespace fiber::actors {
namespace {

constexpr std::size_t large = ShareSpread::min_passed;
const std::string host = "192.0.2.1";

std::vector<std::pair<Op, std::uint64_t>> told(const ShareSpread::Steps& steps) {
  std::vector<std::pair<Op, std::uint64_t>> all;
  for (auto& step : steps)
    all.emplace_back(step.op, step.to.incarnation);
  return all;
}
using Told = std::vector<std::pair<Op, std::uint64_t>>;

/// Jobs 1, 2, 3, ..., each on the machine with its own number.
class Spread : public testing::Test {
protected:
  Told wants(std::uint64_t job) { return told(spread.wanted({job, {}}, job)); }
  /// Two jobs have the value, and these others want it.
  void two_have_it(const std::vector<std::uint64_t>& others) {
    ASSERT_EQ(wants(1), (Told{{Op::shared, 1}}));
    ASSERT_EQ(wants(2), (Told{{Op::shared, 2}}));
    for (auto job : others)
      ASSERT_EQ(wants(job), Told{});
  }
  /// A job has it, and is told to listen for another one. Returns that call.
  PeerCall introduced(std::uint64_t job, std::uint64_t to) {
    auto steps = spread.arrived(job);
    EXPECT_EQ(told(steps), (Told{{Op::peer_listen, job}}));
    if (steps.empty())
      return {};
    EXPECT_EQ(steps[0].call.peer, to);
    return steps[0].call;
  }
  static PeerCall answer(PeerCall call) {
    call.host = host;
    call.port = 4000;
    return call;
  }

  SharePassing passing;
  ShareSpread spread{7, large, passing};
};

TEST_F(Spread, a_third_machine_gets_the_value_from_one_that_has_it) {
  two_have_it({3});
  auto call = introduced(1, 3);
  auto steps = spread.listens(1, answer(call), host);
  ASSERT_EQ(told(steps), (Told{{Op::peer_dial, 3}}));
  auto& dial = steps[0].call;
  EXPECT_EQ(dial.peer, 1u);
  EXPECT_EQ(dial.share, 7u);
  EXPECT_EQ(dial.host, host);
  EXPECT_EQ(dial.secret, call.secret);
}

TEST_F(Spread, a_job_passes_the_value_on_to_one_other_at_a_time) {
  two_have_it({3, 4, 5});
  introduced(1, 3);
  introduced(2, 4);
  auto steps = spread.arrived(3);
  ASSERT_EQ(told(steps), (Told{{Op::peer_listen, 1}}));
  EXPECT_EQ(steps[0].call.peer, 5u);
}

TEST_F(Spread, the_driver_sends_a_small_value_to_each_machine) {
  ShareSpread small(7, large - 1, passing);
  for (std::uint64_t job = 1; job < 9; ++job)
    EXPECT_EQ(told(small.wanted({job, {}}, job)), (Told{{Op::shared, job}}));
}

TEST_F(Spread, the_driver_sends_what_another_job_could_not_pass_on) {
  two_have_it({3, 4});
  introduced(1, 3);
  EXPECT_EQ(told(spread.failed({3, {}})), (Told{{Op::shared, 3}, {Op::peer_listen, 1}}));
  EXPECT_EQ(told(spread.failed({3, {}})), Told{}) << "it is on its way already";
}

TEST_F(Spread, jobs_that_never_reach_each_other_cost_two_attempts) {
  log().set_level(spdlog::level::off);
  two_have_it({3, 4, 5, 6});
  introduced(1, 3);
  introduced(2, 4);
  EXPECT_EQ(told(spread.failed({3, {}})), (Told{{Op::shared, 3}, {Op::peer_listen, 1}}));
  EXPECT_EQ(told(spread.failed({4, {}})), (Told{{Op::shared, 4}, {Op::shared, 6}}));
  ShareSpread next(8, large, passing);
  for (std::uint64_t job = 1; job < 9; ++job)
    EXPECT_EQ(told(next.wanted({job, {}}, job)), (Told{{Op::shared, job}}));
}

TEST_F(Spread, a_job_that_can_not_listen_costs_no_wait) {
  two_have_it({3});
  auto call = introduced(1, 3);
  EXPECT_EQ(told(spread.listens(1, call, host)), (Told{{Op::shared, 3}}));
}

TEST_F(Spread, a_job_that_listens_elsewhere_than_at_its_own_address_is_not_dialled) {
  two_have_it({3});
  auto call = introduced(1, 3);
  EXPECT_EQ(told(spread.listens(1, answer(call), "192.0.2.9")), (Told{{Op::shared, 3}}));
}

TEST_F(Spread, an_answer_of_another_job_or_with_another_secret_is_not_believed) {
  two_have_it({3});
  auto call = answer(introduced(1, 3));
  EXPECT_EQ(told(spread.listens(2, call, host)), Told{});
  ++call.secret[0];
  EXPECT_EQ(told(spread.listens(1, call, host)), Told{});
}

TEST_F(Spread, the_driver_sends_what_a_job_that_is_gone_would_have_passed_on) {
  two_have_it({3});
  introduced(1, 3);
  EXPECT_EQ(told(spread.gone(1)), (Told{{Op::shared, 3}}));
  EXPECT_EQ(passing.failed, 0u) << "that the job died does not tell that none is reached";
}

TEST_F(Spread, a_job_passes_the_value_on_to_the_next_when_the_first_is_gone) {
  two_have_it({3, 4});
  introduced(1, 3);
  EXPECT_EQ(told(spread.gone(3)), (Told{{Op::peer_listen, 1}}));
}

TEST_F(Spread, the_jobs_of_a_machine_map_what_was_passed_on_to_its_first) {
  two_have_it({3});
  EXPECT_EQ(told(spread.wanted({33, {}}, 3)), Told{});
  introduced(1, 3);
  EXPECT_EQ(told(spread.arrived(3)), (Told{{Op::share_memory, 3}}));
  EXPECT_EQ(told(spread.placed({.pid = 1, .fd = 5}, 3)), (Told{{Op::share_mapped, 33}}));
}

/// Machines with jobs that are told what to do, and do so in a random order. Some die,
/// some can't reach each other, some have no memory.
class Machines {
public:
  Machines(std::size_t machines, std::size_t jobs_of_each, double faults, unsigned seed)
    : faults_(faults), random_(seed) {
    for (std::uint64_t machine = 1; machine <= machines; ++machine)
      for (std::uint64_t i = 0; i < jobs_of_each; ++i)
        want(machine * 1000 + i);
  }
  /// Until nothing is left to do.
  void run() {
    while (!to_do_.empty()) {
      auto next = to_do_.begin() + static_cast<std::ptrdiff_t>(below(to_do_.size()));
      auto [step, heard] = std::move(*next);
      to_do_.erase(next);
      if (chance(faults_ / 4))
        die(step.to.incarnation);
      else
        obey(step, heard);
    }
  }
  std::size_t sent() const { return sent_; }
  const std::set<std::uint64_t>& without() const { return without_; }

private:
  struct ToDo {
    ShareSpread::Step step;
    bool heard = false; ///< The receiver of peer_dial has dialled: the value follows.
  };
  static std::uint64_t machine_of(std::uint64_t job) { return job / 1000; }
  std::size_t below(std::size_t n) { return random_() % n; }
  bool chance(double p) { return std::uniform_real_distribution(0.0, 1.0)(random_) < p; }

  void want(std::uint64_t job) {
    without_.insert(job);
    add(spread_.wanted({job, {}}, machine_of(job)));
  }
  void add(const ShareSpread::Steps& steps) {
    for (auto& step : steps) {
      sent_ += step.op == Op::shared ? 1 : 0;
      to_do_.push_back({step});
    }
  }
  void die(std::uint64_t job) {
    if (!dead_.insert(job).second)
      return;
    without_.erase(job);
    add(spread_.gone(job));
    if (job % 1000 < 900)
      want(job + 50); // Its replacement.
  }
  void has_it(std::uint64_t job) {
    if (without_.erase(job) > 0)
      add(spread_.arrived(job));
  }
  void obey(const ShareSpread::Step& step, bool heard) {
    const auto job = step.to.incarnation;
    if (dead_.contains(job))
      return;
    auto call = step.call;
    switch (step.op) {
    case Op::shared:
      return has_it(job);
    case Op::share_memory:
      return add(spread_.placed({.pid = 1, .fd = chance(faults_) ? -1 : 5}, job));
    case Op::share_mapped:
      if (!chance(faults_))
        without_.erase(job);
      else
        add(spread_.failed({job, {}}));
      return;
    case Op::peer_listen:
      call.host = chance(faults_) ? "" : host;
      call.port = 1;
      return add(spread_.listens(job, call, host));
    case Op::peer_dial:
      if (chance(faults_) || dead_.contains(call.peer)) {
        if (without_.contains(job))
          add(spread_.failed({job, {}}));
      } else if (!heard)
        to_do_.push_back({step, true});
      else
        has_it(job);
      return;
    default:
      FAIL() << static_cast<int>(step.op);
    }
  }

  const double faults_;
  std::mt19937 random_;
  SharePassing passing_;
  ShareSpread spread_{7, large, passing_};
  std::deque<ToDo> to_do_;
  std::set<std::uint64_t> dead_, without_;
  std::size_t sent_ = 0;
};

TEST(ShareSpread, the_driver_sends_two_copies_to_any_number_of_machines) {
  for (std::size_t machines : {1, 2, 3, 4, 17, 200}) {
    Machines some(machines, 3, 0, 1);
    some.run();
    EXPECT_EQ(some.without(), std::set<std::uint64_t>{}) << machines;
    EXPECT_EQ(some.sent(), std::min(machines, ShareSpread::most_sent));
  }
}

TEST(ShareSpread, every_job_that_lives_gets_the_value_whatever_befalls_the_others) {
  log().set_level(spdlog::level::off);
  for (unsigned seed = 0; seed < 2000; ++seed) {
    Machines some(1 + seed % 9, 1 + seed % 4, (seed % 7) / 10.0, seed);
    some.run();
    ASSERT_EQ(some.without(), std::set<std::uint64_t>{}) << "seed " << seed;
  }
}

} // namespace
} // namespace fiber::actors
