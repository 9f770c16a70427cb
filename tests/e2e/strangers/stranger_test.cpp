// SPDX-License-Identifier: Apache-2.0
// The promise: a program may do with its own process what other programs do: close
// descriptors, change its arguments, fork, keep the session in a static, wait for ever.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/e2e/support/processes.hpp"
#include "tests/examples/program.hpp"

namespace {

class Stranger : public testing::Test {
protected:
  ~Stranger() override { std::filesystem::remove(file_); }

  /// Runs the program by a shell, after `before`. Returns what it printed.
  std::string run(const std::string& program, const std::string& before = "",
                  int code = 0) {
    Program started({"/bin/sh", "-c", before + " exec " STRANGER " " + program});
    auto output = started.rest();
    EXPECT_EQ(started.wait(), code) << program << '\n' << output;
    return output;
  }
  /// The same for a program that prints "good" at its end.
  void expect_good(const std::string& program, const std::string& before = "") {
    auto output = run(program, before);
    EXPECT_NE(output.find("good\n"), std::string::npos) << program << '\n' << output;
  }
  /// What the program has written into file().
  std::string written() const {
    std::ifstream in(file_);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  const std::string& file() const { return file_; }

private:
  const std::string file_ = testing::TempDir() + "stranger_" + std::to_string(::getpid());
};

TEST_F(Stranger, closes_its_standard_descriptors_before_init) {
  for (auto* zygote : {"", "FIBER_ZYGOTE=never", "FIBER_LINK=tls"}) {
    run("closed " + file(), zygote);
    EXPECT_EQ(written(), "good") << zygote;
  }
}

TEST_F(Stranger, is_started_without_standard_descriptors) {
  run("write " + file(), "exec <&- >&- 2>&-;");
  EXPECT_EQ(written(), "good");
}

TEST_F(Stranger, closes_its_standard_streams_after_init) {
  for (auto* link : {"", "FIBER_LINK=tls FIBER_ZYGOTE=never"}) {
    run("closes_later " + file(), link);
    EXPECT_EQ(written(), "good") << link;
  }
}

TEST_F(Stranger, closes_the_connection_of_its_job_in_a_task) {
  for (auto* way : {"", "FIBER_ZYGOTE=never", "FIBER_LINK=tls"})
    for (auto* how : {"close", "shutdown"}) {
      auto output = run(std::string("loses_links ") + how, way);
      EXPECT_NE(output.find("its connection to the driver was closed or lost"),
                output.npos)
        << way << ' ' << how << '\n'
        << output;
    }
}

TEST_F(Stranger, splits_its_arguments_in_place) {
  for (auto* zygote : {"", "FIBER_ZYGOTE=never"})
    expect_good("split a,b,c", zygote);
}

TEST_F(Stranger, sorts_its_arguments) {
  for (auto* zygote : {"", "FIBER_ZYGOTE=never"})
    expect_good("sorts file -x", zygote);
}

TEST_F(Stranger, changes_environment_folder_and_umask_before_init) {
  for (auto* zygote : {"", "FIBER_ZYGOTE=never"})
    expect_good("moves", zygote);
}

TEST_F(Stranger, removes_or_replaces_its_file_before_init) {
  for (const std::string zygote : {"", "FIBER_ZYGOTE=never"})
    for (const std::string program : {"removes", "replaces"}) {
      std::filesystem::copy_file(STRANGER, file());
      Program started({"/bin/sh", "-c", zygote + " exec " + file() + ' ' + program});
      const auto output = started.rest();
      EXPECT_EQ(started.wait(), 0);
      EXPECT_NE(output.find("good\n"), std::string::npos) << program << '\n' << output;
      std::filesystem::remove(file());
    }
}

TEST_F(Stranger, forks_in_functions_of_jobs_and_in_callbacks) {
  auto output = run("forks");
  EXPECT_NE(output.find("good\n"), std::string::npos) << output;
  for (auto* where : {"a task", "an initializer", "a call of an object",
                      "the function of a ring", "a callback"})
    EXPECT_NE(output.find(std::string("was forked in ") + where), std::string::npos)
      << where << '\n'
      << output;
}

TEST_F(Stranger, forks_in_its_driver) {
  for (auto* way : {"", "FIBER_LINK=tls", "FIBER_BACKEND=inline"})
    expect_good("driver_forks", way);
}

TEST_F(Stranger, becomes_a_daemon_after_init) {
  run("daemon " + file());
  EXPECT_TRUE(fiber::e2e::wait_until([&] { return std::filesystem::exists(file()); }));
  EXPECT_NE(written().find("daemon(), before fiber::init"), std::string::npos)
    << written();
}

TEST_F(Stranger, keeps_session_and_handles_in_statics) {
  for (auto* end : {"return", "function", "exit"})
    for (int i = 0; i < 3; ++i)
      expect_good(std::string("statics ") + end);
}

TEST_F(Stranger, keeps_them_in_statics_with_tls_and_inline) {
  for (auto* way : {"FIBER_LINK=tls", "FIBER_BACKEND=inline"})
    for (auto* end : {"return", "function", "exit"})
      expect_good(std::string("statics ") + end, way);
}

TEST_F(Stranger, has_deep_stacks_without_a_limit) {
  for (auto* backend : {"", "FIBER_BACKEND=inline"})
    expect_good("stacks", std::string("ulimit -s unlimited; ") + backend);
}

TEST_F(Stranger, may_not_write_files) {
  auto output = run("work", "ulimit -f 0;", 1);
  EXPECT_NE(output.find("create job: File too large"), std::string::npos) << output;
}

TEST_F(Stranger, fills_a_file_and_its_trace) {
  auto output = run("fills " + file(), "FIBER_TRACE=" + file() + ".trace");
  EXPECT_NE(output.find("can't write the trace"), output.npos) << output;
  EXPECT_NE(output.find("good\n"), output.npos) << output;
  std::filesystem::remove(file() + ".trace");
}

TEST_F(Stranger, runs_in_a_sandbox_without_signals_by_pidfd) {
  for (auto* zygote : {"", "FIBER_ZYGOTE=never"})
    expect_good("no_pidfd_signals", zygote);
}

// A sanitizer needs more address space, and does not run under valgrind.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(Stranger, has_no_memory_for_the_threads_of_a_session) {
  auto output = run("few_threads", "", 1);
  EXPECT_NE(output.find("cannot start 5 threads: "), std::string::npos) << output;
}

TEST_F(Stranger, runs_under_valgrind) {
  const std::string valgrind = "/usr/bin/valgrind";
  if (!std::filesystem::exists(valgrind))
    GTEST_SKIP() << "needs valgrind";
  for (auto* program : {"work", "statics"}) {
    Program started({valgrind, "-q", "--error-exitcode=9", STRANGER, program, "return"});
    auto output = started.rest();
    EXPECT_NE(output.find("good\n"), std::string::npos) << program << '\n' << output;
    EXPECT_EQ(started.wait(), 0) << program << '\n' << output;
  }
}
#endif

TEST_F(Stranger, has_no_ipv4) {
  // In a chroot no user namespace can be made, which root does not need.
  const std::string options = ::geteuid() == 0 ? "-n" : "-rn";
  if (std::system(("unshare " + options + " ip link set lo up 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "needs a network namespace, and the command ip";
  const std::string namespaced =
    " unshare " + options +
    " sh -c 'ip link set lo up; ip addr del 127.0.0.1/8 dev lo;"
    " \"$@\"'";
  expect_good("signals", namespaced); // It has a ring.
  expect_good("work", "FIBER_LINK=tls" + namespaced);
  expect_good("signals", "FIBER_LINK=tls" + namespaced);
}

TEST_F(Stranger, starts_programs_from_ring_members) {
  expect_good("signals");
}

TEST_F(Stranger, gives_the_longest_and_the_shortest_times) {
  expect_good("times");
}

} // namespace
