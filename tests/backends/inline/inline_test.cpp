// SPDX-License-Identifier: Apache-2.0
// The promise: inline jobs keep the jobs part of the contract; the processes part does
// not apply to them.
#include "backends/inline/inline_backend.hpp"
#include "tests/backends/contract.hpp"

namespace fiber::backends {

namespace {

/// Executes `exit N` at once; any other job runs until stopped.
InlineBackend::Stop play_here(const JobSpec& spec, const InlineBackend::Ended& ended) {
  std::string script(reinterpret_cast<const char*>(spec.boot.data()), spec.boot.size());
  if (script.starts_with("exit "))
    ended(std::stoi(script.substr(5)), "done");
  return [ended] { ended(0, "stopped"); };
}

BackendTraits inline_traits() {
  return {.name = "inline",
          .make = [] { return std::make_unique<InlineBackend>(play_here); },
          .links = false,
          .pages = false,
          .same_host = false};
}

using Kind = JobEvent::Kind;

TEST(InlineBackend, a_job_that_reports_its_end_twice_ends_once) {
  InlineBackend::Ended report;
  BackendTest test(
    std::make_unique<InlineBackend>([&](const JobSpec&, InlineBackend::Ended ended) {
      report = std::move(ended);
      return [] {};
    }));
  test.create("one", "");
  report(3, "first");
  report(4, "second");
  EXPECT_EQ(test.events.last("one").exit_code, 3);
  EXPECT_EQ(test.events.count(Kind::ended), 1u);
}

TEST(InlineBackend, a_job_that_is_terminated_twice_is_stopped_once) {
  int stopped = 0;
  BackendTest test(std::make_unique<InlineBackend>(
    [&](const JobSpec&, const InlineBackend::Ended&) { return [&] { ++stopped; }; }));
  test.create("one", "");
  test.backend->terminate("one", {});
  test.backend->terminate("one", {});
  test.backend.reset();
  EXPECT_EQ(stopped, 1);
  EXPECT_EQ(test.events.last("one").exit_code, std::nullopt);
}

TEST(InlineBackend, an_exception_of_start_becomes_the_refusal) {
  BackendTest test(std::make_unique<InlineBackend>(
    [](const JobSpec&, const InlineBackend::Ended&) -> InlineBackend::Stop {
      throw std::runtime_error("no room");
    }));
  try {
    test.create("one", "");
    FAIL() << "was accepted";
  } catch (const EngineError& error) {
    EXPECT_STREQ(error.what(), "create job: no room");
  }
  EXPECT_TRUE(test.backend->list().empty());
}

TEST(InlineBackend, nothing_of_a_forgotten_job_is_kept) {
  BackendTest test(std::make_unique<InlineBackend>(play_here));
  for (auto i = 0; i < 3; ++i) {
    test.create("one", "exit 0");
    EXPECT_THROW(test.create("one", "exit 0"), EngineError);
    test.backend->forget("one");
  }
  test.create("two", "wait");
  test.backend->forget("two"); // It exists.
  EXPECT_THROW(test.create("two", "exit 0"), EngineError);
}

TEST(InlineBackend, a_watcher_may_create_and_terminate) {
  std::vector<std::string> seen;
  InlineBackend backend(play_here);
  backend.watch([&](const JobEvent& event) {
    seen.push_back((event.kind == Kind::started ? "+" : "-") + event.job);
    if (event.job == "one" && event.kind == Kind::started) {
      backend.create(BackendTest::spec("two", "wait"));
      backend.terminate("one", {});
      seen.push_back("returned");
    }
  });
  backend.create(BackendTest::spec("one", "wait"));
  EXPECT_EQ(seen, (std::vector<std::string>{"+one", "returned", "+two", "-one"}));
}

} // namespace

INSTANTIATE_TEST_SUITE_P(inline_backend, Jobs, testing::Values(inline_traits()),
                         traits_name);

} // namespace fiber::backends
