// SPDX-License-Identifier: Apache-2.0
// The promise: jobs are submitted with what the settings say and nothing else, and the
// script starts the program with exactly its arguments.
#include "backends/slurm/submission.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "backends/registry.hpp"
#include "backends/slurm/session_folder.hpp"
#include "backends/slurm/slurm_job.hpp"

namespace fiber::backends::slurm {
namespace {

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

TEST(SlurmSubmission, one_id_names_tasks_of_an_array) {
  std::vector<SlurmJobPtr> jobs;
  auto add = [&](const std::string& id, std::vector<std::size_t> tasks) {
    auto array = std::make_shared<JobArray>();
    array->id = id;
    for (auto task : tasks) {
      jobs.push_back(std::make_shared<SlurmJob>());
      jobs.back()->array = array;
      jobs.back()->index = task;
    }
  };
  add("12", {7, 0, 1, 2, 9, 10});
  add("13", {4});
  EXPECT_EQ(task_ids(jobs), (std::vector<std::string>{"12_[0-2,7,9-10]", "13_[4]"}));
  EXPECT_TRUE(task_ids({}).empty());
}

TEST(SlurmSubmission, settings_become_options_of_sbatch) {
  SlurmOptions options;
  options.partition = "gpu,long";
  options.account = "lab";
  options.qos = "high";
  options.time = "1-12";
  options.constraint = "a100|h100";
  options.gres = "nvme:1";
  options.arguments = "--exclusive  --nice=10";
  Submission submission{.name = "fiber-s.1",
                        .folder = "/home/me/my files",
                        .tasks = 8,
                        .resources = {.cpu = 0.5, .memory_mb = 2000, .gpu = 2}};
  auto words = sbatch_words(submission, options, "/work");
  for (auto* word :
       {"--parsable", "--no-requeue", "--array=0-7", "--job-name=fiber-s.1",
        "--output=/home/me/my files/output.%a", "--chdir=/work", "--cpus-per-task=1",
        "--mem=2000M", "--gres=nvme:1,gpu:2", "--partition=gpu,long", "--account=lab",
        "--qos=high", "--time=1-12", "--constraint=a100|h100", "--exclusive", "--nice=10",
        "--signal=B:TERM@60", "--export=ALL"})
    EXPECT_TRUE(has(words, word)) << word;
  EXPECT_EQ(words.front(), "sbatch");
  for (auto& word : words)
    EXPECT_FALSE(word == "--wrap" || word.starts_with("/"))
      << "the script comes by stdin: " << word;
}

TEST(SlurmSubmission, what_is_not_set_is_left_to_the_site) {
  Submission submission{.name = "n", .folder = "/f", .resources = {}};
  for (auto& word : sbatch_words(submission, {}, "/work"))
    for (auto* option : {"--partition", "--account", "--qos", "--time", "--constraint",
                         "--gres", "--mem"})
      EXPECT_FALSE(word.starts_with(option)) << word;
}

TEST(SlurmSubmission, gpus_named_in_the_setting_win) {
  SlurmOptions options;
  options.gres = "gpu:a100:1";
  Submission submission{.name = "n", .folder = "/f", .resources = {.gpu = 1}};
  EXPECT_TRUE(has(sbatch_words(submission, options, "/"), "--gres=gpu:a100:1"));
}

TEST(SlurmSubmission, time_limits_are_those_of_slurm) {
  for (auto* good : {"30", "5:00", "2:00:00", "1-12", "1-12:30", "1-12:30:15", "0:30",
                     "UNLIMITED", "INFINITE"})
    EXPECT_TRUE(is_time_limit(good)) << good;
  for (auto* bad : {"", "0", "0:00", "2h", "1:2:3:4", "-5", "1-", "1-2:3:4:5", "a:b",
                    "1:", " 5", "99999999999999999999"})
    EXPECT_FALSE(is_time_limit(bad)) << bad;
}

TEST(SlurmSubmission, a_short_job_is_warned_later_than_at_its_start) {
  EXPECT_EQ(seconds_of_warning(""), 60);
  EXPECT_EQ(seconds_of_warning("UNLIMITED"), 60);
  EXPECT_EQ(seconds_of_warning("1-00"), 60);
  EXPECT_EQ(seconds_of_warning("10"), 60);
  EXPECT_EQ(seconds_of_warning("2"), 30);
  EXPECT_EQ(seconds_of_warning("1:00"), 15);
}

TEST(SlurmSubmission, further_arguments_are_options_that_fiber_does_not_set) {
  for (auto* good : {"--exclusive", "--exclusive --nice=10", "--reservation=maintenance",
                     "--mail-type=FAIL", "-b"})
    EXPECT_TRUE(are_arguments(good)) << good;
  for (auto* bad : {"", "exclusive", "--array=0-3", "--exclusive --output=/tmp/x",
                    "--export=NONE", "-o /tmp/x", "-J name", "--nice 10", "-C a100"})
    EXPECT_FALSE(are_arguments(bad)) << bad;
}

/// Writes a file that can be run.
void write_program(const std::string& path, const std::string& text) {
  write_private(path, text);
  ::chmod(path.c_str(), 0700);
}

std::string script_file(const std::string& folder) {
  return folder + "/script";
}

/// Runs the script of a job as Slurm does. Returns its exit code and its output.
std::pair<int, std::string> run_script(const std::string& folder) {
  auto command = "cd / && SLURM_ARRAY_TASK_ID=3 SLURMD_NODENAME=n7 " +
                 shell_word(script_file(folder)) + " >" + shell_word(folder + "/told") +
                 " 2>&1";
  int status = std::system(command.c_str());
  std::ifstream told(folder + "/told");
  return {WEXITSTATUS(status), {std::istreambuf_iterator<char>(told), {}}};
}

class SlurmScript : public testing::Test {
protected:
  SlurmScript() {
    char name[] = "/tmp/fiber-slurm-script-XXXXXX";
    folder_ = std::string(::mkdtemp(name)) + "/it's a \"folder\" $HOME";
    std::filesystem::create_directory(folder_);
  }
  ~SlurmScript() override {
    std::filesystem::remove_all(std::filesystem::path(folder_).parent_path());
  }
  std::string folder_;
};

TEST_F(SlurmScript, gives_the_program_its_start_file_and_arguments) {
  auto program = folder_ + "/program";
  write_program(program,
                "#!/bin/sh\necho \"$FIBER_NODE\"; cat; for a; do echo \"<$a>\"; done\n");
  write_program(
    script_file(folder_),
    job_script(folder_, program, {"", "a b", "it's", "$HOME", "*", "--x=\"y\""}));
  write_private(start_file(folder_, 3), "start\n");
  auto [code, told] = run_script(folder_);
  EXPECT_EQ(code, 0);
  EXPECT_EQ(told, "slurm\nstart\n<>\n<a b>\n<it's>\n<$HOME>\n<*>\n<--x=\"y\">\n");
  EXPECT_FALSE(file_exists(start_file(folder_, 3))) << "keys are left on the disk";
}

TEST_F(SlurmScript, gives_the_program_the_environment_that_sbatch_must_not_have) {
  auto program = folder_ + "/program";
  write_program(program,
                "#!/bin/sh\necho \"<$LD_LIBRARY_PATH> <$ODD>\"; env | grep -cF 'A.B='\n");
  write_program(
    script_file(folder_),
    job_script(folder_, program, {},
               {{"LD_LIBRARY_PATH", "/a b/it's"}, {"ODD", "$HOME\nx"}, {"A.B", "1"}}));
  write_private(start_file(folder_, 3), "start\n");
  EXPECT_EQ(run_script(folder_).second, "</a b/it's> <$HOME\nx>\n0\n");
  EXPECT_TRUE(is_shell_name("LD_PRELOAD") && is_shell_name("_1"));
  EXPECT_FALSE(is_shell_name("A.B") || is_shell_name("1A") || is_shell_name(""));
}

TEST_F(SlurmScript, gives_the_program_the_usual_limit_of_open_files) {
  auto program = folder_ + "/program";
  write_program(program, "#!/bin/sh\nulimit -S -n\n");
  auto limit_of_program = [&](std::uint64_t wanted) {
    std::filesystem::remove(script_file(folder_));
    write_program(script_file(folder_), job_script(folder_, program, {}, {}, wanted));
    write_private(start_file(folder_, 3), "start\n");
    return run_script(folder_).second;
  };
  auto usual = limit_of_program(0);
  EXPECT_EQ(limit_of_program(100), "100\n");
  EXPECT_EQ(limit_of_program(2'000'000'000), usual) << "more than the node allows";
}

TEST_F(SlurmScript, names_the_node_and_the_path_of_a_program_that_is_not_there) {
  write_program(script_file(folder_), job_script(folder_, "/nowhere/it's", {}));
  write_private(start_file(folder_, 3), "start\n");
  auto [code, told] = run_script(folder_);
  EXPECT_EQ(code, script_failed);
  EXPECT_EQ(told, "node n7 has no program /nowhere/it's\n");
  EXPECT_TRUE(file_exists(start_file(folder_, 3)));
}

TEST_F(SlurmScript, does_not_start_the_program_without_its_start_file) {
  write_program(script_file(folder_), job_script(folder_, "/bin/echo", {"started"}));
  auto [code, told] = run_script(folder_);
  EXPECT_EQ(code, script_failed);
  EXPECT_EQ(told, "node n7 has no start file " + start_file(folder_, 3) + "\n");
}

TEST(SlurmSubmission, gpus_of_the_options_are_not_hidden_from_jobs) {
  SlurmOptions options;
  EXPECT_EQ(resources_in_all({}, options).gpu, 0);
  EXPECT_EQ(resources_in_all({.gpu = 2}, options).gpu, 2);
  options.gres = "nvme:1,gpu:a100:1";
  EXPECT_EQ(resources_in_all({}, options).gpu, 1);
  options.gres = "";
  options.arguments = "--gpus-per-node=1";
  EXPECT_EQ(resources_in_all({}, options).gpu, 1);
}

TEST(SlurmKind, is_chosen_in_an_allocation_where_its_commands_are) {
  auto& kinds = backend_kinds();
  auto slurm = std::ranges::find(kinds, "slurm", &BackendKind::name);
  ASSERT_NE(slurm, kinds.end());
  char name[] = "/tmp/fiber-slurm-path-XXXXXX";
  std::string folder = ::mkdtemp(name), before = std::getenv("PATH");
  ::setenv("PATH", folder.c_str(), 1);
  EXPECT_EQ(slurm->detect(), "") << "there is neither an allocation nor a command";
  ::setenv("SLURM_JOB_ID", "4711", 1);
  EXPECT_EQ(slurm->detect(), "") << "there is no command";
  write_program(folder + "/sbatch", "");
  EXPECT_EQ(slurm->detect(), "this process is in Slurm's job 4711");
  ::unsetenv("SLURM_JOB_ID");
  EXPECT_EQ(slurm->detect(), "");
  ::setenv("PATH", before.c_str(), 1);
  std::filesystem::remove_all(folder);
}

TEST(SlurmKind, bad_settings_are_refused) {
  auto& kinds = backend_kinds();
  auto slurm = std::ranges::find(kinds, "slurm", &BackendKind::name);
  auto accepts = [&](const std::string& key, const std::string& value) {
    return std::ranges::find(slurm->keys, key, &BackendKey::name)->accepts(value);
  };
  EXPECT_TRUE(accepts("slurm_time", "2:00:00"));
  EXPECT_FALSE(accepts("slurm_time", "2h"));
  EXPECT_FALSE(accepts("slurm_arguments", "--output=x"));
  EXPECT_TRUE(accepts("slurm_directory", "/scratch/me"));
  EXPECT_FALSE(accepts("slurm_directory", "scratch"));
  EXPECT_FALSE(accepts("slurm_directory", "/scratch/%u"));
  EXPECT_FALSE(accepts("slurm_account", "two words"));
}

TEST(SlurmFolder, files_are_readable_by_the_user_alone) {
  char name[] = "/tmp/fiber-slurm-folder-XXXXXX";
  std::string base = ::mkdtemp(name);
  {
    SessionFolder folder(base + "/a/b", "session", std::chrono::seconds(60));
    auto inner = folder.add("1");
    write_private(inner + "/keys", "secret");
    using std::filesystem::perms;
    auto mode = [](const std::string& path) {
      return std::filesystem::status(path).permissions();
    };
    EXPECT_EQ(mode(folder.path()), perms::owner_all);
    EXPECT_EQ(mode(inner), perms::owner_all);
    EXPECT_EQ(mode(inner + "/keys"), perms::owner_read | perms::owner_write);
    EXPECT_THROW(write_private(inner + "/keys", "again"), EngineError);
    folder.remove();
    EXPECT_FALSE(std::filesystem::exists(folder.path()));
  }
  std::filesystem::remove_all(base);
}

} // namespace
} // namespace fiber::backends::slurm
