// SPDX-License-Identifier: Apache-2.0
// The promise: jobs of a real Slurm keep the contract. Also: what happens when users,
// nodes and the controller interfere, and that a dead driver leaves nothing behind.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/backends/heard_log.hpp"
#include "tests/backends/slurm/slurm_fixture.hpp"

namespace fiber::backends {

using Kind = JobEvent::Kind;

INSTANTIATE_TEST_SUITE_P(slurm, Jobs, testing::Values(slurm_traits()), traits_name);
INSTANTIATE_TEST_SUITE_P(slurm, Processes, testing::Values(slurm_traits()), traits_name);

namespace {

class Slurm : public SlurmTest {};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

TEST_F(Slurm, jobs_that_are_requested_together_are_one_array) {
  BackendTest test(make_slurm(slurm_options()));
  for (int i = 0; i < 20; ++i)
    test.create("job-" + std::to_string(i), "wait");
  ASSERT_TRUE(test.events.wait_for(Kind::started, 20));
  std::set<std::string> arrays;
  for (auto& job : jobs())
    arrays.insert(job.substr(0, job.find('_')));
  EXPECT_EQ(arrays.size(), 1u);
}

TEST_F(Slurm, only_the_user_can_read_the_files_of_a_session) {
  BackendTest test(make_slurm(slurm_options()));
  auto job = test.create("one", "env FIBER_NODE\nwait");
  test.logs_with(job.id, "waiting");
  ASSERT_EQ(folders().size(), 1u);
  for (auto& entry : std::filesystem::recursive_directory_iterator(folders()[0])) {
    using std::filesystem::perms;
    auto mode = entry.status().permissions();
    EXPECT_EQ(entry.path().filename().string().find("start."), std::string::npos)
      << "the job has not removed its start file";
    if (entry.is_directory()) {
      EXPECT_EQ(mode, perms::owner_all) << entry.path();
    }
  }
  struct stat folder {};
  ASSERT_EQ(::stat(folders()[0].c_str(), &folder), 0);
  EXPECT_EQ(folder.st_mode & 0777, 0700u);
}

TEST_F(Slurm, the_environment_of_jobs_is_not_that_of_sbatch) {
  // The loader writes a file for each program that has these variables.
  auto folder = std::filesystem::path(slurm_options().directory) / "loaded";
  std::filesystem::create_directories(folder);
  auto options = slurm_options();
  options.environment = {{"LD_DEBUG", "files"},
                         {"LD_DEBUG_OUTPUT", (folder / "program").string()}};
  {
    BackendTest test(make_slurm(options));
    auto job = test.create("one", "env LD_DEBUG\nwait");
    EXPECT_TRUE(has(test.logs_with(job.id, "waiting"), "LD_DEBUG=files"));
  }
  std::string programs;
  for (auto& file : std::filesystem::directory_iterator(folder)) {
    std::ifstream lines(file.path());
    for (std::string line; std::getline(lines, line);)
      if (has(line, "initialize program: "))
        programs += line.substr(line.find("initialize program: ")) + "\n";
  }
  std::filesystem::remove_all(folder);
  EXPECT_NE(programs, "") << "the job had them";
  EXPECT_FALSE(has(programs, "sbatch")) << programs;
}

TEST_F(Slurm, resources_become_options_of_the_job) {
  BackendTest test(make_slurm(slurm_options()));
  auto spec = BackendTest::spec("one", "wait");
  spec.resources = {.cpu = 2.5, .memory_mb = 300, .gpu = 1};
  auto job = test.backend->create(std::move(spec));
  test.logs_with(job.id, "waiting");
  auto told = clusters::ask_slurm("scontrol --oneliner show job " + only_running());
  EXPECT_TRUE(has(told, "CPUs/Task=3")) << told;
  EXPECT_TRUE(has(told, "MinMemoryNode=300M")) << told;
  EXPECT_TRUE(has(told, "TresPerNode=gres:gpu:1") || has(told, "TresPerNode=gres/gpu:1"))
    << told;
  EXPECT_TRUE(has(told, "Requeue=0")) << told;
}

TEST_F(Slurm, a_job_that_a_user_cancels_has_ended_by_the_clusters_will) {
  BackendTest test(make_slurm(slurm_options()));
  auto job = test.create("one", "wait");
  test.logs_with(job.id, "waiting");
  clusters::ask_slurm("scancel " + only_running());
  auto last = test.events.last(job.id);
  EXPECT_EQ(last.kind, Kind::ended);
  EXPECT_TRUE(last.disrupted);
  EXPECT_TRUE(has(last.detail, "cancelled by scancel")) << last.detail;
}

TEST_F(Slurm, a_job_that_exceeds_its_memory_says_so) {
  if (clusters::slurm()->at("SLURM_MEMORY") != "limited")
    GTEST_SKIP() << "SKIPPED: this kernel lets Slurm limit no memory";
  BackendTest test(make_slurm(slurm_options()));
  auto spec = BackendTest::spec("one", "eat 400\nwait");
  spec.resources.memory_mb = 128; // Enough for the sanitizers.
  auto job = test.backend->create(std::move(spec));
  auto last = test.events.last(job.id);
  EXPECT_EQ(last.exit_code, -SIGKILL);
  EXPECT_TRUE(last.detail.starts_with("OOMKilled, limit 128 MiB, node ")) << last.detail;
  EXPECT_FALSE(last.disrupted);
}

TEST_F(Slurm, a_job_that_waits_is_failed_with_slurms_reason) {
  auto options = slurm_options();
  options.partition = "closed";
  HeardLog heard;
  BackendTest test(make_slurm(options));
  auto one = test.create("one", "wait"), two = test.create("two", "wait");
  EXPECT_TRUE(eventually([] { return jobs().size() == 2; }));
  EXPECT_TRUE(eventually([&] { return heard.has("waits: PartitionDown"); }));
  for (auto& job : {one.id, two.id})
    EXPECT_TRUE(eventually([&] {
      auto words = test.events.waits(job);
      return !words.empty() && has(words.back(), "PartitionDown");
    }))
      << job;
  test.backend->terminate(one.id, std::chrono::milliseconds(0));
  auto last = test.events.last(one.id);
  EXPECT_EQ(last.kind, Kind::failed);
  EXPECT_TRUE(has(last.detail, "PartitionDown")) << last.detail;
  EXPECT_EQ(test.backend->list(), std::vector{two.id});
  EXPECT_EQ(jobs().size(), 1u);
}

TEST_F(Slurm, a_refused_job_fails_with_sbatchs_words) {
  auto options = slurm_options();
  options.partition = "nope";
  auto detail = failure_of(options, BackendTest::spec("one", "wait")).detail;
  EXPECT_TRUE(has(detail, "invalid partition specified: nope")) << detail;
  options = slurm_options();
  options.arguments = "--bogus";
  detail = failure_of(options, BackendTest::spec("one", "wait")).detail;
  EXPECT_TRUE(has(detail, "unrecognized option '--bogus'")) << detail;
}

TEST_F(Slurm, a_controller_that_dies_and_returns_ends_no_job) {
  BackendTest test(make_slurm(slurm_options()));
  auto one = test.create("one", "wait");
  test.logs_with(one.id, "waiting");
  only_running();
  ASSERT_EQ(script("controller kill"), 0);
  auto two = test.create("two", "print second\nwait");
  EXPECT_EQ(test.backend->list().size(), 2u);
  ASSERT_EQ(script("controller start"), 0);
  test.logs_with(two.id, "second");
  EXPECT_EQ(test.events.count(Kind::ended) + test.events.count(Kind::failed), 0u);
  test.backend->terminate(one.id, std::chrono::minutes(1));
  EXPECT_EQ(test.events.last(one.id).exit_code, 0);
}

TEST_F(Slurm, a_job_that_the_controller_has_forgotten_is_lost) {
  BackendTest test(make_slurm(slurm_options()));
  auto job = test.create("one", "wait");
  test.logs_with(job.id, "waiting");
  ASSERT_EQ(script("controller kill"), 0);
  ASSERT_EQ(script("controller forget"), 0);
  auto last = test.events.last(job.id);
  EXPECT_EQ(last.kind, Kind::ended);
  EXPECT_EQ(last.exit_code, std::nullopt);
  EXPECT_FALSE(last.confirmed);
  EXPECT_TRUE(has(last.detail, "Slurm no longer has job")) << last.detail;
  auto next = test.create("two", "exit 7"); // Maybe with the same id.
  EXPECT_EQ(test.events.last(next.id).exit_code, 7);
}

TEST_F(Slurm, a_node_that_is_set_down_may_still_have_its_processes) {
  BackendTest test(make_slurm(slurm_options()));
  auto job = test.create("one", "wait");
  test.logs_with(job.id, "waiting");
  auto id = only_running();
  auto node = clusters::ask_slurm("squeue --noheader --format=%N --job=" + id);
  node.erase(node.find_last_not_of('\n') + 1);
  auto update = "scontrol update nodename=" + node;
  clusters::ask_slurm(update + " state=down reason=test");
  auto last = test.events.last(job.id);
  clusters::ask_slurm(update + " state=resume");
  EXPECT_EQ(last.kind, Kind::ended);
  EXPECT_EQ(last.exit_code, std::nullopt);
  EXPECT_TRUE(last.disrupted);
  EXPECT_FALSE(last.confirmed);
  EXPECT_TRUE(has(last.detail, "NODE_FAIL") && has(last.detail, node)) << last.detail;
}

/// Starts this program as a driver, kills it once Slurm has `state` for its jobs, and
/// waits until nothing of it is left.
void kill_driver(const std::string& partition, const std::string& state,
                 const std::function<std::vector<std::string>()>& jobs) {
  auto pid = ::fork();
  if (pid == 0) {
    ::execl("/proc/self/exe", "slurm_test", "--drive", partition.c_str(), nullptr);
    ::_exit(127);
  }
  EXPECT_TRUE(eventually([&] {
    auto all = jobs();
    return all.size() == 3 && std::ranges::all_of(all, [&](auto& job) {
             return job.ends_with(" " + state);
           });
  }));
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  EXPECT_TRUE(eventually([&] { return jobs().empty(); }));
}

TEST_F(Slurm, jobs_of_a_killed_driver_end_whether_they_run_or_wait) {
  kill_driver("batch", "RUNNING", &SlurmTest::jobs);
  kill_driver("closed", "PENDING", &SlurmTest::jobs);
}

TEST_F(Slurm, a_session_that_was_left_behind_is_removed_by_the_next) {
  auto left = std::filesystem::path(slurm_options().directory) / "0123456789ab";
  std::filesystem::create_directories(left);
  ASSERT_EQ(std::system(("echo 60 >" + (left / "alive").string() +
                         " && touch -d '2 minutes ago' " + (left / "alive").string())
                          .c_str()),
            0);
  clusters::ask_slurm("sbatch --partition=closed --job-name=fiber-0123456789ab.1 "
                      "--array=0-2 --wrap=true");
  clusters::ask_slurm("sbatch --partition=closed --job-name=fiber-other.1 --wrap=true");
  EXPECT_EQ(jobs().size(), 4u);
  BackendTest test(make_slurm(slurm_options()));
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(eventually([] { return jobs().size() == 1; }));
  clusters::ask_slurm("scancel --name=fiber-other.1");
}

TEST(SlurmAbsent, a_machine_without_slurm_says_what_is_missing) {
  std::string before = std::getenv("PATH");
  ::setenv("PATH", "/nowhere", 1);
  std::string told;
  try {
    make_slurm({});
  } catch (const EngineError& error) {
    told = error.what();
  }
  ::setenv("PATH", before.c_str(), 1);
  EXPECT_TRUE(has(told, "sbatch is not on PATH")) << told;
}

} // namespace

} // namespace fiber::backends
