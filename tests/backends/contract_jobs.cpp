// SPDX-License-Identifier: Apache-2.0
// The promise of each backend: a job is created once, is listed, and ends exactly once.
#include "tests/backends/contract.hpp"

#include <algorithm>

namespace fiber::backends {

using std::chrono::milliseconds;
using std::chrono::minutes;
using Kind = JobEvent::Kind;

TEST_P(Jobs, a_job_starts_and_then_ends) {
  auto job = test_->create("one", "exit 0");
  auto last = test_->events.last(job.id);
  EXPECT_EQ(last.kind, Kind::ended);
  EXPECT_EQ(last.exit_code, 0);
  auto events = test_->events.of(job.id);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, Kind::started);
}

TEST_P(Jobs, many_jobs_start_and_end_each_exactly_once) {
  constexpr std::size_t count = 40;
  std::vector<Job> jobs;
  std::set<JobId> ids;
  for (std::size_t i = 0; i < count; ++i) {
    jobs.push_back(test_->create("job-" + std::to_string(i), "wait"));
    ids.insert(jobs.back().id);
  }
  EXPECT_EQ(ids.size(), count);
  ASSERT_TRUE(test_->events.wait_for(Kind::started, count));
  for (auto& job : jobs)
    test_->backend->terminate(job.id, minutes(1));
  for (auto& job : jobs)
    test_->events.last(job.id);
  for (auto& job : jobs)
    test_->backend->terminate(job.id, minutes(1)); // Has no effect after the end.
  test_->backend.reset();
  for (auto& job : jobs) {
    auto events = test_->events.of(job.id);
    ASSERT_EQ(events.size(), 2u) << job.id;
    EXPECT_EQ(events[0].kind, Kind::started);
    EXPECT_EQ(events[1].kind, Kind::ended);
  }
}

TEST_P(Jobs, jobs_are_listed_while_they_exist) {
  auto one = test_->create("one", "wait");
  auto two = test_->create("two", "wait");
  auto listed = test_->backend->list();
  std::sort(listed.begin(), listed.end());
  EXPECT_EQ(listed, (std::vector<JobId>{one.id, two.id}));
  ASSERT_TRUE(test_->events.wait_for(Kind::started, 2));
  test_->backend->terminate(one.id, milliseconds(0));
  test_->events.last(one.id);
  EXPECT_TRUE(eventually([&] { return test_->backend->list() == std::vector{two.id}; }));
}

TEST_P(Jobs, a_name_is_refused_the_second_time) {
  auto job = test_->create("one", "exit 0");
  test_->events.last(job.id);
  try {
    test_->create("one", "exit 0");
    FAIL() << "was accepted";
  } catch (const EngineError& error) {
    EXPECT_NE(std::string(error.what()).find("\"one\""), std::string::npos)
      << error.what();
  }
  EXPECT_EQ(test_->events.of(job.id).size(), 2u);
}

TEST_P(Jobs, a_job_that_cooperates_ends_within_the_grace) {
  auto job = test_->create("one", "wait");
  ASSERT_NE(test_->events.started(job.id), -1);
  if (GetParam().same_host && !test_->backend->logs(job.id).empty())
    test_->logs_with(job.id, "waiting");
  test_->backend->terminate(job.id, minutes(5));
  auto last = test_->events.last(job.id);
  EXPECT_EQ(last.kind, Kind::ended);
}

TEST_P(Jobs, terminating_an_unknown_job_has_no_effect) {
  auto job = test_->create("one", "wait");
  test_->backend->terminate("another", milliseconds(0));
  test_->backend->forget("another");
  EXPECT_EQ(test_->backend->logs("another"), "");
  ASSERT_NE(test_->events.started(job.id), -1);
  EXPECT_EQ(test_->backend->list(), std::vector{job.id});
  EXPECT_EQ(test_->events.of("another").size(), 0u);
}

TEST_P(Jobs, a_job_that_exists_is_not_forgotten) {
  auto job = test_->create("one", "wait");
  ASSERT_NE(test_->events.started(job.id), -1);
  test_->backend->forget(job.id);
  test_->backend->terminate(job.id, milliseconds(0));
  EXPECT_EQ(test_->events.last(job.id).kind, Kind::ended);
}

TEST_P(Jobs, a_job_terminated_at_once_still_has_one_last_event) {
  auto job = test_->create("one", "wait");
  test_->backend->terminate(job.id, milliseconds(0));
  test_->backend->terminate(job.id, milliseconds(0));
  test_->events.last(job.id);
  test_->backend.reset();
  auto events = test_->events.of(job.id);
  EXPECT_EQ(std::count_if(events.begin(), events.end(),
                          [](auto& event) { return event.kind != Kind::started; }),
            1);
}

TEST_P(Jobs, the_destructor_ends_all_jobs) {
  std::vector<Job> jobs;
  for (int i = 0; i < 5; ++i)
    jobs.push_back(test_->create("job-" + std::to_string(i), "wait"));
  ASSERT_NE(test_->events.started(jobs[0].id), -1);
  test_->backend.reset();
  for (auto& job : jobs) {
    auto events = test_->events.of(job.id);
    ASSERT_FALSE(events.empty());
    EXPECT_NE(events.back().kind, Kind::started);
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Jobs);

} // namespace fiber::backends
