// SPDX-License-Identifier: Apache-2.0
// Pools whose workers are jobs of a real Slurm keep their promises, whatever users do to
// the jobs, or somebody to the controller or the driver.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <fiber/error.hpp>
#include <fiber/fiber.hpp>

#include "tests/clusters/cluster.hpp"
#include "tests/clusters/slurm_accounting.hpp"
#include "tests/e2e/clusters/es_training.hpp"
#include "tests/e2e/support/fixture.hpp"
#include "tests/examples/program.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

class SlurmPool : public SessionTest {
protected:
  void SetUp() override {
    if (!clusters::slurm())
      GTEST_SKIP() << "SKIPPED: no Slurm is up";
  }
  void TearDown() override {
    if (!clusters::slurm())
      return;
    close();
    EXPECT_TRUE(wait_until([] { return running().empty(); })) << "jobs are left";
    std::error_code error;
    EXPECT_TRUE(
      wait_until([&] { return std::filesystem::is_empty(sessions(), error) || error; }))
      << "files are left";
    clusters::ask_slurm("scancel --user=$(id -u)");
  }

  static std::string sessions() { return clusters::slurm()->at("SLURM_SESSIONS"); }
  static Config config() {
    Config config;
    config.backend = "slurm";
    config.more = {{"slurm_directory", sessions()}};
    return config;
  }
  /// Returns "ID_INDEX" of each job that has not ended.
  static std::vector<std::string> running() {
    std::istringstream ids(
      clusters::ask_slurm("squeue --noheader --array --format=%F_%K"));
    return {std::istream_iterator<std::string>(ids), {}};
  }
  static int script(const std::string& command) {
    return std::system((clusters::slurm()->at("SLURM_SCRIPTS") + "/" + command).c_str());
  }
};

/// Each waits in its first run until the test says go.
std::size_t block_once(std::size_t i) {
  if (this_task::attempt() == 1)
    note_and_wait("holding");
  return f(i);
}

bool await_notes(const std::string& list, std::size_t n) {
  return wait_until([&] { return notes(list).size() >= n; }, 60s);
}

TEST_F(SlurmPool, a_map_runs_in_jobs_of_slurm) {
  open(config());
  Pool pool(3);
  EXPECT_EQ(pool.map(f, indices(500)), undisturbed(500));
  EXPECT_TRUE(pool.wait_until_workers_up(deadline));
  EXPECT_EQ(running().size(), 3u);
  EXPECT_FALSE(
    pool.apply([] { return std::string(std::getenv("SLURM_JOB_ID")); }).empty());
}

TEST_F(SlurmPool, many_workers_are_few_arrays) {
  open(config());
  Pool pool(40); // Each is requested once its keys are made.
  EXPECT_TRUE(pool.wait_until_workers_up(2 * deadline));
  std::set<std::string> arrays;
  for (auto& job : running())
    arrays.insert(job.substr(0, job.find('_')));
  EXPECT_LE(arrays.size(), 10u);
}

/// Takes all nodes, as the jobs of others do.
class FullPartition {
public:
  FullPartition() {
    clusters::ask_slurm("sbatch --job-name=filler --exclusive --array=0-3 "
                        "--output=/dev/null --wrap='sleep 600'");
    EXPECT_TRUE(wait_until([] { return taken() == 4; }, 60s));
  }
  FullPartition(const FullPartition&) = delete;
  FullPartition& operator=(const FullPartition&) = delete;
  ~FullPartition() { empty(); }
  static void empty() { clusters::ask_slurm("scancel --name=filler"); }

private:
  static std::ptrdiff_t taken() {
    auto nodes = clusters::ask_slurm(
      "squeue --noheader --array --name=filler --states=running --format=%N");
    return std::ranges::count(nodes, '\n');
  }
};

TEST_F(SlurmPool, waits_for_a_full_partition_longer_than_a_start_may_take) {
  FullPartition others;
  auto hurried = config();
  hurried.start_deadline = 8s;
  open(hurried);
  Pool pool(2);
  auto results = pool.map_async(f, indices(20));
  EXPECT_FALSE(results.wait_for(10s));
  others.empty();
  EXPECT_EQ(results.get(), undisturbed(20));
  EXPECT_EQ(pool.stats().workers_lost, 0u);
}

TEST_F(SlurmPool, the_wait_ends_at_the_queue_deadline_with_slurms_words) {
  FullPartition others;
  auto patient = config();
  patient.queue_deadline = 5s;
  open(patient);
  Pool pool(1);
  auto begin = std::chrono::steady_clock::now();
  std::string said;
  try {
    pool.apply(f, std::size_t{1});
  } catch (const TimeoutError& error) {
    said = error.what();
  }
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 5s);
  EXPECT_NE(said.find("waited 5 s to be started (queue_deadline): "), said.npos) << said;
  EXPECT_TRUE(said.ends_with("Resources") || said.ends_with("Priority")) << said;
}

/// Slurm limits the jobs of this user.
class SlurmLimits : public SlurmPool {
protected:
  void SetUp() override {
    SlurmPool::SetUp();
    if (IsSkipped())
      return;
    ::unsetenv(mark_variable); // The cluster's daemons are not processes of the session.
    cluster_.emplace();
    ::setenv(mark_variable, mark().c_str(), 1);
    ASSERT_TRUE(cluster_->is_up());
  }
  void TearDown() override {
    SlurmPool::TearDown();
    cluster_.reset();
  }
  void limit(const std::string& what) { cluster_->limit(what); }
  static Config hurried() {
    auto settings = config();
    settings.start_deadline = 8s;
    settings.log_level = "warn";
    return settings;
  }

private:
  std::optional<clusters::SlurmAccounting> cluster_;
};

TEST_F(SlurmLimits, of_submitted_jobs_keep_workers_away_as_long_as_they_last) {
  limit("maxsubmitjobs=5");
  testing::internal::CaptureStderr(); // Where the log is.
  open(hurried());
  Pool pool(12);
  EXPECT_EQ(pool.map(f, indices(200)), undisturbed(200));
  EXPECT_FALSE(pool.wait_until_workers_up(10s));
  EXPECT_EQ(running().size(), 5u);
  EXPECT_EQ(pool.map(f, indices(200)), undisturbed(200));
  limit("maxsubmitjobs=-1");
  EXPECT_TRUE(pool.wait_until_workers_up(60s));
  auto told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("AssocMaxSubmitJobLimit"), told.npos) << told;
  EXPECT_LE(std::ranges::count(told, '\n'), 3) << told;
}

TEST_F(SlurmLimits, of_running_jobs_let_the_others_wait_without_a_deadline) {
  limit("maxjobs=5");
  open(hurried());
  Pool pool(12);
  EXPECT_FALSE(pool.wait_until_workers_up(10s));
  EXPECT_EQ(running().size(), 12u);
  EXPECT_EQ(pool.map(f, indices(200)), undisturbed(200));
  EXPECT_EQ(pool.stats().workers_lost, 0u);
  limit("maxjobs=-1");
  EXPECT_TRUE(pool.wait_until_workers_up(60s));
}

TEST_F(SlurmPool, a_worker_that_is_killed_is_replaced) {
  open(config());
  Pool pool(3);
  auto results = pool.map_async(block_once, indices(30));
  ASSERT_TRUE(await_notes("holding", 3));
  clusters::ask_slurm("scancel --signal=KILL --batch " + running()[0]);
  ASSERT_TRUE(await_lost(pool, 1));
  note("go", "");
  EXPECT_EQ(results.get(), undisturbed(30));
  EXPECT_EQ(pool.stats().workers_lost, 1u);
  expect_works(pool, 3);
}

TEST_F(SlurmPool, a_controller_that_dies_and_returns_disturbs_nothing) {
  open(config());
  Pool pool(2);
  auto results = pool.map_async(block_once, indices(20));
  ASSERT_TRUE(await_notes("holding", 2));
  ASSERT_EQ(script("controller kill"), 0);
  note("go", "");
  EXPECT_EQ(results.get(), undisturbed(20)); // Work needs no controller.
  ASSERT_EQ(script("controller start"), 0);
  EXPECT_EQ(pool.stats().workers_lost, 0u);
  expect_works(pool, 2);
}

std::string job_id(int) {
  return std::string(std::getenv("SLURM_ARRAY_JOB_ID")) + "_" +
         std::getenv("SLURM_ARRAY_TASK_ID");
}

TEST_F(SlurmPool, a_time_limit_that_nears_drains_the_worker_uncharged) {
  auto options = config();
  options.more["slurm_time"] = "1"; // Slurm's shortest.
  open(options);
  Pool pool(PoolOptions{.workers = 1, .max_retries = 0}); // A charge would fail a task.
  auto first = pool.apply(job_id, 0);
  std::string now = first;
  for (int i = 0; i < 20 && now == first; ++i)
    EXPECT_TRUE(wait_until([&] { return (now = pool.apply(job_id, i)) != first; }) ||
                i < 19);
  EXPECT_NE(now, first) << "the worker has outlived its time limit";
  EXPECT_EQ(pool.stats().workers_lost, 0u);
  EXPECT_EQ(pool.stats().failed, 0u);
}

TEST_F(SlurmPool, a_node_that_fails_charges_no_task_and_its_processes_are_fenced_off) {
  open(config());
  Pool pool(2);
  auto results = pool.map_async(block_once, indices(20));
  ASSERT_TRUE(await_notes("holding", 2));
  auto before = running();
  auto node =
    clusters::ask_slurm("squeue --noheader --array --format=%N --job=" + before[0]);
  node.erase(node.find_last_not_of('\n') + 1);
  // Slurm gives up all jobs of the node. Their processes live on and answer later.
  ASSERT_EQ(script("node kill " + node), 0);
  EXPECT_TRUE(wait_until(
    [&] {
      auto now = running();
      return now.size() == 2 && std::ranges::find(now, before[0]) == now.end();
    },
    120s));
  note("go", "");
  EXPECT_EQ(results.get(), undisturbed(20));
  EXPECT_EQ(pool.stats().workers_lost, 0u); // Such losses are not charged.
  EXPECT_EQ(script("node start " + node), 0);
  expect_works(pool, 2);
}

std::size_t work_for_5_seconds(std::size_t i) {
  note("runs", std::to_string(i));
  if (i == 0 && this_task::attempt() == 1)
    note_and_wait("holding");
  std::this_thread::sleep_for(5s);
  return f(i);
}

TEST_F(SlurmPool, a_controller_that_is_away_for_two_minutes_only_delays_replacements) {
  open(config());
  Pool pool(2);
  auto results = pool.map_async(work_for_5_seconds, indices(30));
  ASSERT_TRUE(await_notes("holding", 1));
  ASSERT_EQ(script("controller kill"), 0);
  auto back = std::chrono::steady_clock::now() + 2min;
  // Nobody can replace it now: the start of the next one takes longer than it may.
  ::kill(static_cast<pid_t>(noted("holding")), SIGKILL);
  ASSERT_TRUE(await_lost(pool, 1));
  std::this_thread::sleep_until(back); // The fault itself.
  EXPECT_FALSE(results.ready());
  ASSERT_EQ(script("controller start"), 0);
  expect_works(pool, 2);
  EXPECT_EQ(results.get(), undisturbed(30));
  auto counts = runs("runs", 30);
  EXPECT_EQ(counts[0], 2u);
  EXPECT_EQ(std::ranges::count(counts, 1u), 29);
  EXPECT_EQ(pool.stats().failed, 0u);
}

TEST_F(SlurmPool, a_worker_that_falls_silent_is_replaced_and_does_nothing_twice) {
  auto options = config();
  options.heartbeat_timeout = 2s;
  options.lease = 5s;
  open(options);
  Pool pool(2);
  auto results = pool.map_async(block_once, indices(20));
  ASSERT_TRUE(await_notes("holding", 2));
  auto silent = static_cast<pid_t>(noted("holding"));
  ASSERT_EQ(::kill(silent, SIGSTOP), 0); // As behind a network that drops everything.
  ASSERT_TRUE(await_lost(pool, 1));
  note("go", "");
  EXPECT_EQ(results.get(), undisturbed(20));
  ::kill(silent, SIGCONT);
  expect_works(pool, 2);
}

const std::size_t enough_mb = 200; // For the sanitizers, too.

std::size_t eat_3(std::size_t i) {
  std::vector<std::string> eaten;
  for (int mb = 0; i == 3 && mb < 600; ++mb)
    eaten.emplace_back(1 << 20, 'x');
  return f(i);
}

TEST_F(SlurmPool, a_task_that_needs_too_much_memory_is_told_so_and_the_others_end) {
  if (clusters::slurm()->at("SLURM_MEMORY") != "limited")
    GTEST_SKIP() << "SKIPPED: this kernel lets Slurm limit no memory";
  open(config());
  Pool pool(
    PoolOptions{.workers = 2, .resources = {.memory_mb = enough_mb}, .max_retries = 1});
  auto outcomes = pool.map_async(eat_3, indices(20)).outcomes();
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    EXPECT_EQ(outcomes[i].ok(), i != 3) << i;
  try {
    outcomes[3].value();
  } catch (const WorkerLost& error) {
    EXPECT_TRUE(error.reason().starts_with("OOMKilled, limit 200 MiB, node "))
      << error.reason();
    EXPECT_EQ(error.exits(), (std::vector<std::optional<int>>{-SIGKILL, -SIGKILL}));
  }
  expect_works(pool, 2);
}

TEST_F(SlurmPool, a_partition_that_does_not_exist_is_the_pools_error) {
  auto options = config();
  options.more["slurm_partition"] = "nope";
  open(options);
  Pool pool(1);
  try {
    pool.map(f, indices(1));
    ADD_FAILURE() << "it works";
  } catch (const BackendError& error) {
    EXPECT_NE(std::string(error.what()).find("invalid partition specified: nope"),
              std::string::npos)
      << error.what();
  }
}

TEST_F(SlurmPool, nothing_is_left_of_a_driver_that_was_killed) {
  setenv("FIBER_BACKEND", "slurm", 1);
  setenv("FIBER_SLURM_DIRECTORY", sessions().c_str(), 1);
  Program driver({"/proc/self/exe", "hold"});
  unsetenv("FIBER_BACKEND");
  unsetenv("FIBER_SLURM_DIRECTORY");
  ASSERT_TRUE(await_notes("holding", 3));
  EXPECT_EQ(running().size(), 3u);
  driver.kill(SIGKILL);
  EXPECT_TRUE(wait_until([] { return running().empty(); }, 60s));
  EXPECT_TRUE(wait_until([&] { return marked(mark()).empty(); }, 60s));
}

#ifdef ES_TRAIN
TEST_F(SlurmPool, a_training_ends_the_same_though_a_worker_is_cancelled) {
  auto local = (folder() / "local").string(), slurm = (folder() / "slurm").string();
  auto here = start_training(ES_TRAIN, local, 2, {"FIBER_BACKEND=local"});
  auto told = here->rest();
  ASSERT_EQ(here->wait(), 1) << told;
  ASSERT_FALSE(policy_in(local).empty()) << told;
  auto there = start_training(
    ES_TRAIN, slurm, 2, {"FIBER_BACKEND=slurm", "FIBER_SLURM_DIRECTORY=" + sessions()});
  there->limit_unread();
  std::string output;
  while (auto line = there->line()) {
    output += *line + "\n";
    if (line->find("10/60") == line->npos)
      continue;
    auto jobs = running();
    ASSERT_EQ(jobs.size(), 2u) << output;
    clusters::ask_slurm("scancel " + jobs[0]);
    break;
  }
  output += there->rest();
  EXPECT_EQ(there->wait(), 1) << output;
  EXPECT_EQ(policy_in(slurm), policy_in(local)) << output;
}
#endif

} // namespace
} // namespace fiber::e2e
