// SPDX-License-Identifier: Apache-2.0
// The promise: a ring tells a lost member from a function that throws, whichever of their
// consequences is reported first.
#include "actors/ring/ring_attempt.hpp"

#include <string>

#include <gtest/gtest.h>

namespace fiber::actors {
namespace {

using Fate = RingAttempt::Fate;

detail::RawOutcome value(std::uint8_t byte) {
  return {Payload(Bytes{std::byte{byte}}), nullptr};
}
detail::RawOutcome member_threw(std::string type, std::string what,
                                std::size_t rank = 0) {
  return {{},
          std::make_exception_ptr(
            RemoteError({std::move(type), std::move(what), {}, {}}, rank, 1, "job"))};
}
detail::RawOutcome member_broke(const std::string& why = "closed by peer") {
  return member_threw("fiber::actors::RingBroken", why);
}
detail::RawOutcome lost(int exit) {
  return {{}, std::make_exception_ptr(WorkerLost(0, 1, {exit}, "killed"))};
}
template <class E>
E thrown(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const E& e) {
    return e;
  }
}

TEST(RingAttempt, an_attempt_is_done_when_all_members_have_a_result) {
  RingAttempt attempt(3);
  attempt.ended(2, value(2));
  attempt.ended(0, value(0));
  EXPECT_EQ(attempt.fate(), Fate::open);
  attempt.ended(1, value(1));
  ASSERT_EQ(attempt.fate(), Fate::done);
  auto results = attempt.take_results();
  for (std::size_t rank = 0; rank < 3; ++rank)
    EXPECT_EQ(results.at(rank).value.bytes()[0], std::byte(rank));
}

TEST(RingAttempt, an_attempt_is_lost_with_a_member) {
  RingAttempt attempt(3);
  attempt.ended(0, value(0));
  attempt.ended(1, lost(-9));
  EXPECT_EQ(attempt.fate(), Fate::lost);
  EXPECT_EQ(attempt.rank(), 1U);
}

TEST(RingAttempt, an_attempt_has_failed_when_the_function_throws) {
  RingAttempt attempt(3);
  attempt.ended(2, member_threw("std::out_of_range", "no 17th", 2));
  EXPECT_EQ(attempt.fate(), Fate::failed);
  EXPECT_EQ(attempt.rank(), 2U);
  attempt.ended(1, lost(-9)); // It is ended because of that.
  EXPECT_EQ(attempt.fate(), Fate::failed);
}

TEST(RingAttempt, an_attempt_waits_for_the_cause_when_members_lose_contact) {
  for (auto cause_first : {false, true}) {
    for (auto failed : {false, true}) {
      RingAttempt attempt(3);
      auto cause = [&] {
        attempt.ended(2, failed ? member_threw("std::bad_alloc", "std::bad_alloc")
                                : lost(-11));
      };
      if (cause_first)
        cause();
      attempt.ended(0, member_broke());
      attempt.ended(1, member_broke());
      EXPECT_EQ(attempt.wants_cause(), !cause_first);
      if (!cause_first)
        cause();
      EXPECT_FALSE(attempt.wants_cause());
      EXPECT_EQ(attempt.fate(), failed ? Fate::failed : Fate::lost);
      EXPECT_EQ(attempt.rank(), 2U);
    }
  }
}

TEST(RingAttempt, an_attempt_is_lost_if_no_cause_is_reported) {
  RingAttempt attempt(2);
  attempt.give_up_waiting();
  EXPECT_EQ(attempt.fate(), Fate::open);
  attempt.ended(1, member_broke("no route"));
  attempt.ended(0, member_broke("another"));
  attempt.give_up_waiting();
  ASSERT_EQ(attempt.fate(), Fate::lost);
  EXPECT_EQ(attempt.rank(), 1U);
  EXPECT_EQ(thrown<WorkerLost>(attempt.error()).reason(), "no route");
}

TEST(RingAttempt, an_attempt_is_refused_if_a_member_gets_no_job) {
  RingAttempt attempt(2);
  attempt.ended(1, {{}, std::make_exception_ptr(BackendError("start", 28, "full"))});
  EXPECT_EQ(attempt.fate(), Fate::refused);
  EXPECT_EQ(thrown<BackendError>(attempt.error()).status(), 28);
}

TEST(RingAttempt, only_the_first_deciding_outcome_counts) {
  RingAttempt attempt(1);
  attempt.ended(7, lost(-9)); // There is no such member.
  EXPECT_EQ(attempt.fate(), Fate::open);
  attempt.ended(0, value(0));
  attempt.ended(0, lost(-9));
  EXPECT_EQ(attempt.fate(), Fate::done);
}

TEST(RingLost, the_error_names_the_lost_ranks_and_their_exits) {
  auto error =
    thrown<WorkerLost>(ring_lost("Ring-1", {{2, lost(-9).error}, {0, lost(3).error}}));
  EXPECT_STREQ(error.what(), "Ring-1 lost a member in each of 2 attempts (rank 2: signal "
                             "9, rank 0: exit code 3); last: killed");
  EXPECT_EQ(error.index(), 0U);
  EXPECT_EQ(error.attempts(), 2);
  EXPECT_EQ(error.exits(), (std::vector<std::optional<int>>{-9, 3}));
  EXPECT_EQ(thrown<WorkerLost>(ring_lost("Ring-2", {{0, lost(-9).error}})).attempts(), 1);
}

} // namespace
} // namespace fiber::actors
