// SPDX-License-Identifier: Apache-2.0
// The promise: local jobs keep the contract, forked or exec'ed, also with odd programs.
#include "backends/local/local_backend.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <spdlog/sinks/ostream_sink.h>

#include "backends/local/core_table.hpp"
#include "base/log.hpp"
#include "tests/backends/contract.hpp"

namespace fiber::backends {

namespace {

using std::chrono::milliseconds;
using Kind = JobEvent::Kind;

BackendTraits traits(std::string name, bool plain_spawn) {
  return {.name = std::move(name), .make = [plain_spawn] {
            return make_local({.plain_spawn = plain_spawn,
                               .forward_output = false,
                               .argv = {},
                               .executable = {}});
          }};
}

/// Options for jobs of other_program.cpp.
std::unique_ptr<Backend> other_program(const std::string& how, bool plain_spawn = false) {
  return make_local({.plain_spawn = plain_spawn,
                     .forward_output = false,
                     .argv = {"other_program", how},
                     .executable = OTHER_PROGRAM});
}

std::unique_ptr<Backend> quiet() {
  return traits("", false).make();
}

/// Records log lines during its life.
class LogCapture {
public:
  LogCapture() : sink_(std::make_shared<spdlog::sinks::ostream_sink_mt>(text_)) {
    log().sinks().push_back(sink_);
  }
  ~LogCapture() { std::erase(log().sinks(), sink_); }
  std::size_t count(const std::string& words) const {
    std::size_t count = 0;
    auto text = text_.str();
    for (auto at = text.find(words); at != text.npos; at = text.find(words, at + 1))
      ++count;
    return count;
  }

private:
  std::ostringstream text_;
  std::shared_ptr<spdlog::sinks::sink> sink_;
};

/// Replaces a descriptor, and restores it at the end.
class Redirected {
public:
  Redirected(int fd, int by) : fd_(fd), before_(::fcntl(fd, F_DUPFD_CLOEXEC, 10)) {
    ::dup2(by, fd);
  }
  ~Redirected() { ::dup2(before_.get(), fd_); }

private:
  int fd_;
  UniqueFd before_;
};

std::pair<UniqueFd, UniqueFd> new_pipe() {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  return text;
}

TEST(LocalBackend, whole_lines_are_forwarded_with_the_name_of_the_job) {
  auto [read_end, write_end] = new_pipe();
  {
    Redirected stderr_is(STDERR_FILENO, write_end.get());
    BackendTest test(make_local());
    test.create("alice", "print one\nerror two\ntail three");
    test.events.last("alice");
    test.create("bob", "print four");
    test.events.last("bob");
  }
  write_end.reset();
  EXPECT_EQ(read_all(read_end.get()),
            "[alice] one\n[alice] two\n[alice] three\n[bob] four\n");
}

TEST(LocalBackend, nothing_of_a_forgotten_job_is_kept) {
  BackendTest test(quiet());
  for (std::size_t i = 1; i <= 3; ++i) {
    test.create("one", "print again");
    ASSERT_TRUE(test.events.wait_for(Kind::ended, i));
    EXPECT_EQ(test.backend->logs("one"), "again\n");
    EXPECT_THROW(test.create("one", "exit 0"), EngineError);
    test.backend->forget("one");
    EXPECT_EQ(test.backend->logs("one"), "");
  }
}

TEST(LocalBackend, each_gpu_is_assigned_once) {
  ::setenv("CUDA_VISIBLE_DEVICES", "4,GPU-5,6", 1);
  BackendTest test(quiet());
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  auto create = [&](const char* name, const char* script, int gpus) {
    auto spec = BackendTest::spec(name, script);
    spec.resources.gpu = gpus;
    test.backend->create(std::move(spec));
  };
  create("two", "wait", 2);
  create("one", "env CUDA_VISIBLE_DEVICES", 1);
  try {
    create("more", "exit 0", 2);
    FAIL() << "there are no two left";
  } catch (const EngineError& error) {
    EXPECT_NE(std::string(error.what()).find("2 GPUs were asked for, and of the 3"),
              std::string::npos)
      << error.what();
  }
  test.events.last("one");
  EXPECT_EQ(test.backend->logs("one"), "CUDA_VISIBLE_DEVICES=6\n");
  test.backend->terminate("two", std::chrono::milliseconds(0));
  test.events.last("two");
  create("again", "env CUDA_VISIBLE_DEVICES", 3);
  test.events.last("again");
  EXPECT_EQ(test.backend->logs("again").size(),
            std::string("CUDA_VISIBLE_DEVICES=4,GPU-5,6\n").size());
}

std::string environment_of(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(LocalBackend, a_job_has_the_threads_of_its_cores_before_its_libraries_are_loaded) {
  for (bool plain : {false, true}) {
    BackendTest test(traits("", plain).make());
    for (int cpu : {1, 2}) {
      auto name = "job-" + std::to_string(cpu);
      auto spec = BackendTest::spec(name, "env OMP_NUM_THREADS\nenv FIBER_CPUS\nwait");
      spec.resources.cpu = cpu;
      auto job = test.backend->create(std::move(spec));
      auto pid = test.events.started(name);
      auto threads = "OMP_NUM_THREADS=" + std::to_string(cpu);
      EXPECT_EQ(test.logs_with(name, "waiting"),
                threads + "\nFIBER_CPUS=" + std::to_string(cpu) + "\nwaiting\n");
      EXPECT_NE(environment_of(pid).find(threads), std::string::npos)
        << "plain " << plain << ": " << environment_of(pid);
    }
  }
}

TEST(LocalBackend, a_job_without_gpus_sees_none_unless_told_so) {
  auto seen_by_job = [](bool hide) {
    LocalOptions options;
    options.hide_gpus = hide;
    options.forward_output = false;
    ::setenv("CUDA_VISIBLE_DEVICES", "4", 1);
    BackendTest test(make_local(options));
    ::unsetenv("CUDA_VISIBLE_DEVICES");
    test.create("one", "env CUDA_VISIBLE_DEVICES");
    test.events.last("one");
    return test.backend->logs("one");
  };
  EXPECT_EQ(seen_by_job(true), "CUDA_VISIBLE_DEVICES=\n");
  EXPECT_EQ(seen_by_job(false), "CUDA_VISIBLE_DEVICES=4\n");
}

void keep_all_threads_to(const cpu_set_t& cores) {
  for (auto& thread : std::filesystem::directory_iterator("/proc/self/task"))
    ::sched_setaffinity(std::stoi(thread.path().filename().string()), sizeof cores,
                        &cores);
}

/// Returns the cores of a job whose backend saw only the last core, although the job
/// could use all.
std::string cores_of_a_job(bool plain_spawn, double cpu) {
  cpu_set_t all, one;
  EXPECT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  CPU_SET(local::CoreTable::here().back(), &one);
  EXPECT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  BackendTest test(traits("", plain_spawn).make());
  keep_all_threads_to(all);
  auto spec = BackendTest::spec("job", "cores");
  spec.resources.cpu = cpu;
  test.backend->create(std::move(spec));
  test.events.last("job");
  return test.backend->logs("job");
}

TEST(LocalBackend, jobs_that_ask_for_several_cores_are_pinned_to_as_many) {
  auto cores = local::CoreTable::here();
  if (cores.size() == 1) {
    return; // There is no other core.
  }
  std::string all = "cores";
  for (auto core : cores)
    all += " " + std::to_string(core);
  for (auto plain_spawn : {false, true}) {
    EXPECT_EQ(cores_of_a_job(plain_spawn, 1), all + "\n");
    EXPECT_EQ(cores_of_a_job(plain_spawn, 1.5),
              "cores " + std::to_string(cores.back()) + "\n");
  }
}

TEST(CoreTable, jobs_are_spread_over_the_cores) {
  using Cores = std::vector<int>;
  local::CoreTable table({1, 2, 3, 5, 8});
  EXPECT_EQ(table.take(1, 1), Cores());
  EXPECT_EQ(table.take(2, 2), Cores({1, 2}));
  EXPECT_EQ(table.take(3, 1.5), Cores({3, 5}));
  EXPECT_EQ(table.take(4, 2), Cores({1, 8}));
  EXPECT_EQ(table.take(5, 1e300), Cores({1, 2, 3, 5, 8}));
  table.give_back(4);
  table.give_back(2);
  table.give_back(1);
  EXPECT_EQ(table.take(6, 3), Cores({1, 2, 8}));
}

TEST(LocalBackend, very_long_lines_are_cut_without_losing_a_byte) {
  auto [read_end, write_end] = new_pipe();
  std::string seen;
  std::thread reader([&, fd = read_end.get()] { seen = read_all(fd); });
  {
    Redirected stderr_is(STDERR_FILENO, write_end.get());
    BackendTest test(make_local());
    test.create("a", "print " + std::string(300000, 'x'));
    test.events.last("a");
  }
  write_end.reset();
  reader.join();
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 'x'), 300000);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), '\n'), 5);
}

TEST(LocalBackend, an_unread_stderr_delays_no_event) {
  auto [read_end, write_end] = new_pipe();
  Redirected stderr_is(STDERR_FILENO, write_end.get());
  BackendTest test(make_local());
  test.create("loud", "flood 400000");
  EXPECT_EQ(test.events.last("loud").exit_code, 0);
  test.create("louder",
              "flood 20000000"); // Blocks in write(), as on a stopped terminal.
  EXPECT_NE(test.events.started("louder"), -1);
  test.create("quiet", "exit 4");
  EXPECT_EQ(test.events.last("quiet").exit_code, 4);
  test.backend->terminate("louder", milliseconds(0));
  EXPECT_EQ(test.events.last("louder").exit_code, -SIGKILL);
}

TEST(LocalBackend, a_job_inherits_nothing_but_its_own_descriptors) {
  std::set<std::string> inherited; // By this program, and so by its children.
  for (auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    inherited.insert(std::filesystem::read_symlink(entry.path(), gone).string());
  }
  BackendTest test(quiet());
  std::vector<Job> jobs;
  for (int i = 0; i < 8; ++i) {
    auto spec = BackendTest::spec("other-" + std::to_string(i), "wait");
    spec.page_bytes = 4096;
    jobs.push_back(test.backend->create(std::move(spec)));
  }
  auto spec = BackendTest::spec("one", "fds");
  spec.page_bytes = 4096;
  auto job = test.backend->create(std::move(spec));
  test.events.last("one");
  std::istringstream lines(test.backend->logs("one"));
  std::map<std::string, int> kinds;
  for (std::string line; std::getline(lines, line);) {
    if (inherited.contains(line.substr(line.rfind(' ') + 1)))
      continue;
    for (std::string kind :
         {"socket:", "pipe:", "memfd:", "pidfd", "signalfd", "eventpoll"})
      kinds[kind] += line.find(kind) != line.npos;
  }
  EXPECT_EQ(kinds["socket:"], 1); // Its link,
  EXPECT_EQ(kinds["pipe:"], 2);   // and stdout and stderr.
  EXPECT_EQ(kinds["memfd:"], 0);  // It has mapped its page, and closed it.
  EXPECT_EQ(kinds["pidfd"] + kinds["signalfd"] + kinds["eventpoll"], 0);
}

TEST(LocalBackend, a_job_starts_with_ordinary_signals_in_a_group_of_its_own) {
  for (bool plain : {false, true}) {
    BackendTest test(traits("", plain).make());
    test.create("one", "mask\ngroup");
    test.events.last("one");
    EXPECT_EQ(test.backend->logs("one"), "signals end\ngroup 1\n");
  }
}

TEST(LocalBackend, jobs_start_256_at_once) {
  BackendTest test(quiet());
  std::vector<Job> jobs;
  for (int i = 0; i < 256; ++i)
    jobs.push_back(test.create("job-" + std::to_string(i), "wait"));
  EXPECT_TRUE(test.events.wait_for(Kind::started, 256));
  EXPECT_EQ(test.backend->list().size(), 256u);
}

TEST(LocalBackend,
     output_that_the_program_left_unflushed_before_init_is_not_printed_by_each_job) {
  BackendTest test(other_program("banner"));
  test.create("one", "print hello");
  test.events.last("one");
  EXPECT_EQ(test.backend->logs("one"), "hello\n");
}

TEST(LocalBackend, threads_before_init_mean_exec_for_each_job_and_one_log_line) {
  LogCapture captured;
  {
    BackendTest test(other_program("thread"));
    for (auto* name : {"one", "two", "three"})
      test.create(name, "exit 7");
    for (auto* name : {"one", "two", "three"})
      EXPECT_EQ(test.events.last(name).exit_code, 7);
    test.create("four", "signal 9");
    EXPECT_EQ(test.events.last("four").exit_code, -SIGKILL);
  }
  EXPECT_EQ(captured.count("exec'ed instead of forked"), 1u);
}

TEST(LocalBackend, a_program_that_ends_before_init_fails_in_clear_words) {
  for (bool plain : {false, true}) {
    auto detail_of = [&](const std::string& how) {
      BackendTest test(other_program(how, plain));
      test.create("one", "exit 0");
      auto last = test.events.last("one");
      EXPECT_EQ(last.kind, Kind::failed);
      EXPECT_EQ(test.events.of("one").size(), 1u);
      return last.detail;
    };
    EXPECT_EQ(detail_of("exit"),
              "the program ended with exit code 3 before it reached "
              "fiber::init; its last output: no such file: settings.ini");
    EXPECT_EQ(detail_of("exit-quietly"),
              "the program ended with exit code 0 before it reached fiber::init");
    EXPECT_EQ(detail_of("crash").substr(0, 67),
              "the program was killed by SIGABRT before it reached fiber::init");
  }
}

TEST(LocalBackend, after_a_failed_start_the_next_job_starts_a_new_zygote) {
  BackendTest test(other_program("exit"));
  for (auto* name : {"one", "two", "three", "four", "five"}) {
    test.create(name, "exit 0");
    EXPECT_EQ(test.events.last(name).kind, Kind::failed);
  }
}

TEST(LocalBackend, a_program_that_hangs_before_init_can_be_ended) {
  for (bool plain : {false, true}) {
    BackendTest test(other_program("hang", plain));
    test.create("one", "exit 0");
    test.create("two", "exit 0");
    test.backend->terminate("one", milliseconds(0));
    EXPECT_NE(test.events.last("one").kind, Kind::started);
    test.backend.reset();
    EXPECT_NE(test.events.last("two").kind, Kind::started);
  }
}

TEST(LocalBackend, a_program_that_cannot_run_fails_in_the_systems_words) {
  for (bool plain : {false, true}) {
    BackendTest test(make_local({.plain_spawn = plain,
                                 .forward_output = false,
                                 .argv = {},
                                 .executable = "/no/such/program"}));
    test.create("one", "exit 0");
    auto last = test.events.last("one");
    EXPECT_EQ(last.kind, Kind::failed);
    EXPECT_EQ(last.detail, "start /no/such/program: No such file or directory");
  }
}

/// Runs in a child process, because a hard limit cannot be raised again.
void meet_the_descriptor_limit() {
  auto before = open_descriptors();
  {
    BackendTest test(quiet());
    // UBSan needs a pipe for the first object of each type.
    test.create("before", "exit 0");
    EXPECT_EQ(test.events.last("before").exit_code, 0);
    EXPECT_THROW(test.create("before", "exit 0"), EngineError);
    rlimit low{before + 35, before + 40};
    ::setrlimit(RLIMIT_NOFILE, &low);
    std::string refusal;
    std::vector<Job> jobs;
    for (int i = 0; i < 100 && refusal.empty(); ++i)
      try {
        jobs.push_back(test.create("job-" + std::to_string(i), "wait"));
      } catch (const EngineError& error) {
        refusal = error.what();
        EXPECT_EQ(error.status(), EMFILE);
      }
    EXPECT_EQ(refusal, "create job: too many open files: the hard limit is " +
                         std::to_string(low.rlim_max) + ", raise with ulimit -Hn");
    for (auto& job : jobs) {
      test.backend->terminate(job.id, milliseconds(0));
      test.events.last(job.id);
    }
    test.create("after", "exit 0"); // The backend still works.
    EXPECT_EQ(test.events.last("after").exit_code, 0);
  }
  EXPECT_EQ(open_descriptors(), before);
  ::_exit(testing::Test::HasFailure() ? 1 : 0);
}

TEST(LocalBackend, at_the_hard_descriptor_limit_create_says_so_and_nothing_leaks) {
  EXPECT_EXIT(meet_the_descriptor_limit(), testing::ExitedWithCode(0), "");
}

TEST(LocalBackend, a_program_that_ignores_SIGCHLD_still_learns_how_forked_jobs_end) {
  auto before = std::signal(SIGCHLD, SIG_IGN);
  {
    BackendTest test(quiet());
    test.create("one", "exit 9");
    EXPECT_EQ(test.events.last("one").exit_code, 9);
  }
  {
    BackendTest test(traits("", true).make()); // The kernel reaps the children itself.
    test.create("one", "exit 9");
    auto last = test.events.last("one");
    EXPECT_EQ(last.kind, Kind::ended);
    EXPECT_NE(last.detail, "");
  }
  std::signal(SIGCHLD, before);
}

TEST(LocalBackend, a_program_that_reaps_any_child_disturbs_nothing) {
  BackendTest test(quiet());
  std::atomic<bool> done = false;
  std::thread reaper([&] {
    while (!done)
      if (::waitpid(-1, nullptr, WNOHANG) <= 0)
        std::this_thread::sleep_for(milliseconds(1));
  });
  test.create("one", "exit 9");
  EXPECT_EQ(test.events.last("one").exit_code, 9);
  test.create("two", "wait");
  EXPECT_NE(test.events.started("two"), -1);
  test.backend.reset();
  done = true;
  reaper.join();
}

} // namespace

INSTANTIATE_TEST_SUITE_P(local, Jobs,
                         testing::Values(traits("forked", false), traits("exec", true)),
                         traits_name);
INSTANTIATE_TEST_SUITE_P(local, Processes,
                         testing::Values(traits("forked", false), traits("exec", true)),
                         traits_name);

} // namespace fiber::backends
