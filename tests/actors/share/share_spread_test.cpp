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

using namespace std::chrono_literals;
using Kind = ShareSpread::Step::Kind;

constexpr std::size_t large = ShareSpread::min_passed;

using Told = std::vector<std::pair<Kind, std::uint64_t>>;
Told told(const ShareSpread::Steps& steps) {
  Told all;
  for (auto& step : steps)
    if (step.kind != Kind::digest)
      all.emplace_back(step.kind, step.to.incarnation);
  return all;
}

/// Jobs 1, 2, 3, ..., each on the machine with its own number.
class Spread : public testing::Test {
protected:
  ~Spread() override { log().set_level(spdlog::level::warn); }
  Told wants(std::uint64_t job) { return told(spread.wanted({job, {}}, job, now)); }
  Told fails(std::uint64_t job, bool unreached = true) {
    return told(spread.failed({job, {}}, unreached, now));
  }
  Told arrives(std::uint64_t job) { return told(spread.arrived(job, now)); }
  /// Two jobs have the value on its way, and these others want it.
  void two_are_sent_it(const std::vector<std::uint64_t>& others) {
    ASSERT_EQ(wants(1), (Told{{Kind::send, 1}}));
    ASSERT_EQ(wants(2), (Told{{Kind::send, 2}}));
    for (auto job : others)
      ASSERT_EQ(wants(job), Told{});
  }
  /// A job has it, and is told to listen for another one. Returns that call.
  PeerCall introduced(std::uint64_t job, std::uint64_t to) {
    auto steps = spread.arrived(job, now);
    EXPECT_EQ(told(steps), (Told{{Kind::listen, job}}));
    if (steps.empty())
      return {};
    EXPECT_EQ(steps[0].call.peer, to);
    return steps[0].call;
  }
  static PeerCall answer(const PeerCall& call) {
    return {.to = call.peer,
            .peer = call.to,
            .secret = call.secret,
            .host = "a host",
            .port = 4000,
            .share = call.share};
  }

  ShareSpread::Clock::time_point now = ShareSpread::Clock::now();
  SharePassing passing;
  ShareSpread spread{7, large, passing};
};

TEST_F(Spread, a_third_machine_gets_the_value_from_one_that_has_it) {
  two_are_sent_it({3});
  auto call = introduced(1, 3);
  EXPECT_EQ(told(spread.listens(1, call, answer(call), now)), Told{});
  detail::Digest digest{};
  digest[0] = std::byte{9};
  auto steps = spread.digested(digest);
  ASSERT_EQ(told(steps), (Told{{Kind::dial, 3}}));
  auto& dial = steps[0].call;
  EXPECT_EQ(dial.peer, 1u);
  EXPECT_EQ(dial.share, 7u);
  EXPECT_EQ(dial.host, "a host");
  EXPECT_EQ(dial.secret, call.secret);
  EXPECT_EQ(dial.digest, digest);
}

TEST_F(Spread, a_job_passes_the_value_on_to_one_other_at_a_time) {
  two_are_sent_it({3, 4, 5, 6});
  introduced(1, 3);
  introduced(2, 4);
  auto steps = spread.arrived(3, now);
  ASSERT_EQ(told(steps), (Told{{Kind::listen, 1}, {Kind::listen, 3}}));
  EXPECT_EQ(steps[0].call.peer, 5u);
  EXPECT_EQ(steps[1].call.peer, 6u);
  EXPECT_EQ(wants(7), Told{});
  EXPECT_EQ(told(spread.gone(3, now)), (Told{{Kind::send, 6}}))
    << "that the job is gone which once got the value from job 1 does not free job 1";
}

TEST_F(Spread, the_driver_sends_a_small_value_to_each_machine) {
  ShareSpread small(7, large - 1, passing);
  for (std::uint64_t job = 1; job < 9; ++job)
    EXPECT_EQ(told(small.wanted({job, {}}, job, now)), (Told{{Kind::send, job}}));
}

TEST_F(Spread, the_driver_sends_what_another_job_could_not_pass_on) {
  two_are_sent_it({3, 4});
  introduced(1, 3);
  EXPECT_EQ(fails(3), (Told{{Kind::send, 3}, {Kind::listen, 1}}));
  EXPECT_EQ(fails(3), Told{}) << "it is on its way already";
}

TEST_F(Spread, jobs_that_can_not_reach_each_other_cost_two_attempts_in_a_minute) {
  log().set_level(spdlog::level::off);
  two_are_sent_it({3, 4, 5, 6});
  introduced(1, 3);
  introduced(2, 4);
  EXPECT_EQ(fails(3), (Told{{Kind::send, 3}, {Kind::listen, 1}}));
  EXPECT_EQ(fails(4), (Told{{Kind::send, 4}, {Kind::send, 6}}));
  ShareSpread next(8, large, passing);
  for (std::uint64_t job = 1; job < 9; ++job)
    EXPECT_EQ(told(next.wanted({job, {}}, job, now)), (Told{{Kind::send, job}}));
  now += 61s;
  ShareSpread later(9, large, passing);
  for (std::uint64_t job = 1; job < 3; ++job)
    EXPECT_EQ(told(later.wanted({job, {}}, job, now)), (Told{{Kind::send, job}}));
  EXPECT_EQ(told(later.wanted({3, {}}, 3, now)), Told{}) << "the firewall may be gone";
}

TEST_F(Spread, jobs_that_break_off_do_not_tell_that_none_can_be_reached) {
  two_are_sent_it({3, 4, 5, 6});
  introduced(1, 3);
  introduced(2, 4);
  EXPECT_EQ(fails(3, false), (Told{{Kind::send, 3}, {Kind::listen, 1}}));
  EXPECT_EQ(fails(4, false), (Told{{Kind::send, 4}, {Kind::listen, 2}}));
}

TEST_F(Spread, a_job_that_can_not_listen_costs_no_wait) {
  two_are_sent_it({3});
  auto call = introduced(1, 3);
  EXPECT_EQ(told(spread.listens(1, call, std::nullopt, now)), (Told{{Kind::send, 3}}));
}

TEST_F(Spread, an_answer_counts_once_and_from_the_job_that_was_asked) {
  two_are_sent_it({3});
  auto call = introduced(1, 3);
  spread.digested({});
  EXPECT_EQ(told(spread.listens(2, call, answer(call), now)), Told{});
  auto other = call;
  ++other.secret[0];
  EXPECT_EQ(told(spread.listens(1, other, answer(other), now)), Told{});
  EXPECT_EQ(told(spread.listens(1, call, answer(call), now)), (Told{{Kind::dial, 3}}));
  EXPECT_EQ(told(spread.listens(1, call, answer(call), now)), Told{});
}

TEST_F(Spread, the_driver_sends_what_a_job_that_is_gone_would_have_passed_on) {
  two_are_sent_it({3});
  introduced(1, 3);
  EXPECT_EQ(told(spread.gone(1, now)), (Told{{Kind::send, 3}}));
}

TEST_F(Spread, the_driver_sends_what_a_job_does_not_pass_on_in_time) {
  two_are_sent_it({3});
  introduced(1, 3); // It never listens, or never sends.
  now += ShareSpread::max_time(large) - 1s;
  EXPECT_EQ(told(spread.waits(3, now)), Told{});
  now += 1s;
  EXPECT_EQ(told(spread.waits(3, now)), (Told{{Kind::send, 3}}));
  EXPECT_EQ(told(spread.waits(3, now)), Told{});
}

TEST_F(Spread,
       the_driver_sends_to_those_who_wait_for_jobs_that_never_say_that_they_have_it) {
  two_are_sent_it({3});
  EXPECT_EQ(told(spread.wanted({11, {}}, 1, now)), Told{});
  now += 4 * ShareSpread::max_time(large) - 1s;
  EXPECT_EQ(told(spread.waits(11, now)), Told{});
  EXPECT_EQ(told(spread.waits(3, now)), Told{});
  now += 1s;
  EXPECT_EQ(told(spread.waits(11, now)), (Told{{Kind::send, 11}}));
  EXPECT_EQ(told(spread.waits(3, now)), (Told{{Kind::send, 3}}));
}

TEST_F(Spread, a_job_passes_the_value_on_to_the_next_when_the_first_is_gone) {
  two_are_sent_it({3, 4});
  introduced(1, 3);
  EXPECT_EQ(told(spread.gone(3, now)), (Told{{Kind::listen, 1}}));
}

TEST_F(Spread, the_jobs_of_a_machine_map_what_was_passed_on_to_its_first) {
  two_are_sent_it({3});
  EXPECT_EQ(told(spread.wanted({33, {}}, 3, now)), Told{});
  EXPECT_EQ(told(spread.waits(33, now)), Told{});
  introduced(1, 3);
  EXPECT_EQ(arrives(3), (Told{{Kind::place, 3}}));
  EXPECT_EQ(told(spread.placed({.pid = 1, .fd = 5}, 3)), (Told{{Kind::map, 33}}));
}

TEST_F(Spread, a_job_that_claims_to_be_on_many_machines_is_sent_the_value) {
  two_are_sent_it({3});
  EXPECT_EQ(wants(3), (Told{{Kind::send, 3}})) << "it asked twice";
  for (std::uint64_t machine = 100; machine < 110; ++machine)
    EXPECT_EQ(told(spread.wanted({3, {}}, machine, now)), (Told{{Kind::send, 3}}));
}

/// Machines with jobs that are told what to do, and do so in a random order. Some die,
/// some can't reach each other, some have no memory, some never pass the value on.
class Machines {
public:
  Machines(std::size_t machines, std::size_t jobs_of_each, double faults, unsigned seed)
    : faults_(faults), random_(seed) {
    for (std::uint64_t machine = 1; machine <= machines; ++machine)
      for (std::uint64_t i = 0; i < jobs_of_each; ++i)
        want(machine * 1000 + i);
    add(spread_.digested({}));
  }
  /// Until nothing is left to do.
  void run() {
    for (auto idle = 0; idle < 20 && !without_.empty(); ++idle) {
      while (!to_do_.empty()) {
        idle = 0;
        auto next = to_do_.begin() + static_cast<std::ptrdiff_t>(below(to_do_.size()));
        auto [step, dialled] = std::move(*next);
        to_do_.erase(next);
        if (chance(faults_ / 4))
          die(step.to.incarnation);
        else
          obey(step, dialled);
      }
      now_ += 30s;
      for (auto job : without_)
        add(spread_.waits(job, now_));
    }
  }
  std::size_t sent() const { return sent_; }
  const std::set<std::uint64_t>& without() const { return without_; }

private:
  struct ToDo {
    ShareSpread::Step step;
    bool dialled = false; ///< The value follows.
  };
  static std::uint64_t machine_of(std::uint64_t job) { return job / 1000; }
  std::size_t below(std::size_t n) { return random_() % n; }
  bool chance(double p) { return std::uniform_real_distribution(0.0, 1.0)(random_) < p; }

  void want(std::uint64_t job) {
    without_.insert(job);
    add(spread_.wanted({job, {}}, machine_of(job), now_));
  }
  void add(const ShareSpread::Steps& steps) {
    for (auto& step : steps) {
      sent_ += step.kind == Kind::send ? 1 : 0;
      if (step.kind != Kind::digest)
        to_do_.push_back({step});
    }
  }
  void die(std::uint64_t job) {
    if (!dead_.insert(job).second)
      return;
    without_.erase(job);
    add(spread_.gone(job, now_));
    if (job % 1000 < 900)
      want(job + 50); // Its replacement.
  }
  void has_it(std::uint64_t job) {
    if (without_.erase(job) > 0 && !chance(faults_ / 4)) // Or it does not say so.
      add(spread_.arrived(job, now_));
  }
  void fails(std::uint64_t job) {
    if (without_.contains(job))
      add(spread_.failed({job, {}}, chance(0.5), now_));
  }
  void obey(const ShareSpread::Step& step, bool dialled) {
    const auto job = step.to.incarnation;
    if (dead_.contains(job))
      return;
    auto& call = step.call;
    switch (step.kind) {
    case Kind::send:
      return has_it(job);
    case Kind::place:
      if (chance(faults_ / 4))
        return; // It does not answer.
      return add(spread_.placed({.pid = 1, .fd = chance(faults_) ? -1 : 5}, job));
    case Kind::map:
      if (!chance(faults_))
        without_.erase(job);
      else
        fails(job);
      return;
    case Kind::listen:
      if (chance(faults_ / 2))
        return; // It does not answer.
      if (chance(faults_))
        return add(spread_.listens(job, call, std::nullopt, now_));
      return add(spread_.listens(
        job, call,
        PeerCall{.to = call.peer, .peer = job, .secret = call.secret, .share = 7}, now_));
    case Kind::dial:
      if (chance(faults_) || dead_.contains(call.peer))
        fails(job);
      else if (!dialled)
        to_do_.push_back({step, true});
      else
        has_it(job);
      return;
    case Kind::digest:
      FAIL();
    }
  }

  const double faults_;
  std::mt19937 random_;
  ShareSpread::Clock::time_point now_ = ShareSpread::Clock::now();
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
    EXPECT_EQ(some.sent(), std::min(machines, ShareSpread::max_sent));
  }
}

TEST(ShareSpread, every_job_that_lives_gets_the_value_whatever_befalls_the_others) {
  log().set_level(spdlog::level::off);
  for (unsigned seed = 0; seed < 2000; ++seed) {
    Machines some(1 + seed % 9, 1 + seed % 4, (seed % 7) / 10.0, seed);
    some.run();
    ASSERT_EQ(some.without(), std::set<std::uint64_t>{}) << "seed " << seed;
  }
  log().set_level(spdlog::level::warn);
}

} // namespace
} // namespace fiber::actors
