// SPDX-License-Identifier: Apache-2.0
// The promise: FIBER_TRACE writes down where each task was and when, of any program, and
// what became of its workers; whatever happens to the file, the work goes on.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <set>
#include <thread>

#include <sys/resource.h>
#include <unistd.h>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/observing/trace_file.hpp"
#include "tests/e2e/support/driver_process.hpp"
#include "tests/e2e/support/modes.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

class Traced : public SessionTest {
protected:
  std::string path() const { return testing::TempDir() + "fiber_trace." + mark(); }
  ~Traced() override { std::filesystem::remove(path()); }

  void open_traced(Config config = {}) {
    config.trace = path();
    open(config);
  }
  /// In the file, which is not whole yet.
  std::size_t runs_written() const {
    std::ifstream file(path());
    std::size_t runs = 0;
    for (std::string line; std::getline(file, line);)
      runs += line.find(R"("ph":"X")") != line.npos ? 1 : 0;
    return runs;
  }
  /// Of the session, which it ends.
  TraceFile trace() {
    close();
    return TraceFile(path());
  }
};

class TracedOn : public Traced, public testing::WithParamInterface<Mode> {};

std::size_t rank_of(std::size_t) {
  std::this_thread::sleep_for(200us);
  return this_task::worker_rank();
}

TEST_P(TracedOn, each_task_has_its_spans_on_the_row_of_its_worker) {
  auto config = GetParam().config;
  open_traced(config);
  std::vector<std::size_t> ranks;
  {
    Pool idle(1);
    Pool pool(PoolOptions{.workers = 3, .workers_per_job = 2});
    ASSERT_TRUE(pool.wait_until_workers_up(deadline));
    ranks = pool.map(rank_of, indices(200));
    pool.apply(rank_of, 0);
  }
  auto file = trace();
  expect_in_order(file);
  ASSERT_EQ(file.runs().size(), 201u);
  for (auto& run : file.runs()) {
    EXPECT_EQ(file.process(run.pid), "pool2");
    EXPECT_EQ(run.outcome, "value");
    EXPECT_EQ(run.attempt, 1);
    EXPECT_FALSE(run.follows || run.is_followed);
    if (run.call == 1) {
      EXPECT_EQ(file.thread(run.pid, run.tid),
                "worker " + std::to_string(ranks[run.index]));
    }
    for (auto* phase : {"queued", "sent", "returning"}) {
      auto all = file.phases(phase);
      auto holds = [&](auto& one) { // What it was sent in began with the first task.
        return one.call == run.call && one.first <= run.index &&
               (phase == std::string("sent") || run.index < one.first + one.tasks);
      };
      EXPECT_TRUE(std::any_of(all.begin(), all.end(), holds)) << phase << run.index;
    }
  }
  for (std::size_t i = 0; i < 200; ++i)
    EXPECT_EQ(file.runs_of(i).size(), i == 0 ? 2u : 1u);
  EXPECT_EQ(file.instants("worker up").size(), 3u);
}

TEST_P(TracedOn, each_process_has_a_row) {
  auto config = GetParam().config;
  open_traced(config);
  fiber::Process process({.name = "trainer"}, [] { return 3; });
  process.start();
  process.join();
  async([] {}).get();
  auto job = process.job_id();
  auto pid = process.pid();
  auto file = trace();
  ASSERT_GE(file.slices().size(), 2u);
  auto& start = file.slices()[0];
  auto& run = file.slices()[1];
  EXPECT_EQ(start.at("name"), "start");
  EXPECT_EQ(run.at("name"), "trainer");
  EXPECT_EQ(run.at("args").at("exit_code"), 3);
  EXPECT_EQ(run.at("args").at("job"), job);
  EXPECT_EQ(run.at("args").at("pid"), pid);
  EXPECT_NEAR(start.at("ts").get<double>() + start.at("dur").get<double>(), run.at("ts"),
              1);
  EXPECT_EQ(file.process(run.at("pid")), "processes");
  EXPECT_EQ(file.thread(run.at("pid"), run.at("tid")), "trainer");
}

std::size_t blocks_once(std::size_t i) {
  if (i == 7 && this_task::attempt() == 1)
    note_and_wait("victims");
  return f(i);
}

std::size_t waits_to_be_stopped(std::size_t i) {
  auto stop = this_task::stop_token();
  while (i == 7 && this_task::attempt() == 1 && !stop.stop_requested())
    std::this_thread::sleep_for(1ms);
  return f(i);
}

TEST_F(Traced, a_slow_task_has_a_run_for_each_of_its_copies) {
  open_traced();
  {
    Pool pool(2);
    EXPECT_EQ(pool.map(waits_to_be_stopped, indices(40), {.speculate = 2}),
              undisturbed(40));
    EXPECT_TRUE(wait_until([&] { return pool.stats().running == 0; }));
  }
  auto file = trace();
  expect_in_order(file);
  auto both = file.runs_of(7);
  ASSERT_EQ(both.size(), 2u);
  if (both[0].attempt > both[1].attempt) // The copy's result is there first.
    std::swap(both[0], both[1]);
  auto& first = both[0];
  auto& copy = both[1];
  EXPECT_EQ(first.outcome, "overtaken");
  EXPECT_EQ(copy.outcome, "value");
  EXPECT_EQ(copy.attempt, 2);
  EXPECT_NE(first.tid, copy.tid);
  EXPECT_LT(first.began, copy.began);
  EXPECT_TRUE(first.is_followed && copy.follows);
  auto begun = file.instants("copy");
  std::erase_if(begun, [](auto& at) { return at.at("args").at("index") != 7; });
  ASSERT_EQ(begun.size(), 1u);
  EXPECT_EQ(begun[0].at("tid"), copy.tid);
}

TEST_P(TracedOn, a_task_whose_worker_was_killed_has_two_runs) {
  if (GetParam().config.backend == "inline")
    return; // Nobody is killed there.
  open_traced(GetParam().config);
  {
    Pool pool(2);
    auto results = pool.map_async(blocks_once, indices(40));
    kill(static_cast<pid_t>(noted("victims")), SIGKILL);
    EXPECT_EQ(results.get(), undisturbed(40));
    EXPECT_TRUE(wait_until([&] { return pool.stats().workers == 2; }));
  }
  auto file = trace();
  expect_in_order(file);
  auto runs = file.runs_of(7);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].outcome, "lost");
  EXPECT_EQ(runs[0].attempt, 1);
  EXPECT_EQ(runs[1].outcome, "value");
  EXPECT_EQ(runs[1].attempt, 2);
  EXPECT_TRUE(runs[0].is_followed && runs[1].follows);
  EXPECT_EQ(runs[0].task, runs[1].task);
  EXPECT_NE(runs[0].task, "");
  EXPECT_LE(runs[0].ended, runs[1].queued + 0.01);
  auto lost = file.instants("worker lost");
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].at("tid"), runs[0].tid);
  EXPECT_EQ(lost[0].at("args").at("exit_code"), -SIGKILL);
  ASSERT_EQ(file.instants("worker restarted").size(), 1u);
  EXPECT_EQ(file.instants("worker restarted")[0].at("tid"), runs[0].tid);
}

INSTANTIATE_TEST_SUITE_P(On, TracedOn, testing::ValuesIn(modes()), mode_name);

std::size_t fails_at_first(std::size_t i) {
  if (i == 3 && this_task::attempt() == 1)
    throw std::runtime_error("not yet");
  return f(i);
}

TEST_F(Traced, a_task_that_failed_and_runs_again_has_two_runs) {
  open_traced();
  EXPECT_EQ(Pool(PoolOptions{.workers = 2, .retry_exceptions = true})
              .map(fails_at_first, indices(10)),
            undisturbed(10));
  auto runs = trace().runs_of(3);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].outcome, "failed");
  EXPECT_EQ(runs[1].outcome, "value");
  EXPECT_TRUE(runs[0].is_followed && runs[1].follows);
}

std::size_t briefly(std::size_t i) {
  std::this_thread::sleep_for(1ms);
  return f(i);
}

TEST_F(Traced, faults_on_demand_are_told_on_the_row_of_the_worker) {
  open_traced({.chaos = "kill=0.05,seed=3"});
  EXPECT_EQ(Pool(PoolOptions{.workers = 2, .max_retries = 5}).map(briefly, indices(200)),
            undisturbed(200));
  auto file = trace();
  expect_in_order(file);
  auto kills = file.instants("chaos: kill");
  EXPECT_GT(kills.size(), 0u);
  EXPECT_EQ(file.instants("worker lost").size(), kills.size());
  auto lost = std::count_if(file.runs().begin(), file.runs().end(),
                            [](auto& run) { return run.outcome == "lost"; });
  EXPECT_EQ(static_cast<std::size_t>(lost), kills.size());
}

std::size_t stops_once(std::size_t i) {
  if (i == 3 && this_task::attempt() == 1)
    raise(SIGSTOP);
  return f(i);
}

TEST_F(Traced, a_worker_that_is_declared_dead_is_called_so) {
  open_traced({.heartbeat_timeout = 500ms});
  EXPECT_EQ(Pool(2).map(stops_once, indices(10)), undisturbed(10));
  auto file = trace();
  expect_in_order(file);
  EXPECT_EQ(file.instants("worker declared dead").size(), 1u);
  EXPECT_EQ(file.runs_of(3).size(), 2u);
}

std::size_t settings_seen(std::size_t) {
  return (std::getenv("FIBER_TRACE") != nullptr ? 1 : 0) +
         (std::getenv("FIBER_METRICS") != nullptr ? 1 : 0);
}

TEST_F(Traced, programs_that_tasks_start_do_not_write_to_it) {
  setenv("FIBER_TRACE", path().c_str(), 1);
  for (auto* zygote : {"auto", "never"}) {
    open({.zygote = zygote});
    EXPECT_EQ(Pool(1).apply(settings_seen, 0), 0u);
    EXPECT_EQ(trace().runs().size(), 1u);
  }
  unsetenv("FIBER_TRACE");
}

TEST_F(Traced, another_driver_leaves_the_file_alone) {
  open_traced();
  {
    Driver other("work", {"FIBER_TRACE=" + path()});
    EXPECT_EQ(other.wait(), 0);
    EXPECT_EQ(Pool(1).apply(f, 1), 8u);
  }
  EXPECT_EQ(trace().runs().size(), 1u);
}

TEST_F(Traced, nothing_is_written_unless_asked_for) {
  open();
  EXPECT_EQ(Pool(1).apply(f, 1), 8u);
  close();
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(Traced, a_file_that_cannot_be_written_is_refused_at_once) {
  for (auto [bad, why] : {std::pair{"/nowhere/run.json", "No such file"},
                          {"/tmp", "Is a directory"},
                          {"/dev/full", "No space left"}}) {
    try {
      open({.trace = bad});
      ADD_FAILURE() << bad << " was accepted";
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.key(), "trace");
      EXPECT_EQ(error.place(), "fiber::Config");
      EXPECT_NE(std::string(error.what()).find(bad), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  }
}

/// As if the disk were full when a file has so many bytes; of this process alone.
class FullDisk {
public:
  explicit FullDisk(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    auto limit = before_;
    limit.rlim_cur = bytes;
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST_F(Traced, a_full_disk_costs_one_warning_and_no_result) {
  testing::internal::CaptureStderr(); // Where the log is.
  open_traced({.log_level = "warn"});
  {
    Pool pool(2);
    ASSERT_TRUE(pool.wait_until_workers_up(deadline));
    EXPECT_EQ(pool.map(f, indices(100)), undisturbed(100));
    ASSERT_TRUE(wait_until([&] { return runs_written() == 100; }));
    FullDisk full(std::filesystem::file_size(path()) + 10'000);
    for (auto i = 0; i < 5; ++i)
      EXPECT_EQ(pool.map(f, indices(2000)), undisturbed(2000));
    close();
  }
  auto log = testing::internal::GetCapturedStderr();
  auto first = log.find("can't write the trace");
  ASSERT_NE(first, std::string::npos) << log;
  EXPECT_EQ(log.find("can't write the trace", first + 1), std::string::npos) << log;
  TraceFile file(path());
  EXPECT_GE(file.runs().size(), 100u);
  EXPECT_LT(file.runs().size(), 10'100u);
}

TEST_F(Traced, the_file_of_a_driver_that_was_killed_can_be_read) {
  Driver driver("work", {"FIBER_TRACE=" + path()});
  ASSERT_TRUE(wait_until([] { return notes("runs").size() >= 60; }));
  ASSERT_TRUE(wait_until([&] { return runs_written() > 0; }));
  kill(driver.pid(), SIGKILL);
  EXPECT_EQ(driver.wait(), -SIGKILL);
  TraceFile file(path(), true);
  EXPECT_GT(file.runs().size(), 0u);
  expect_in_order(file);
}

} // namespace
} // namespace fiber::e2e
