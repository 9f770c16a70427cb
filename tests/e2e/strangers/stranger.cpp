// SPDX-License-Identifier: Apache-2.0
// Programs that treat their process as their own: stranger PROGRAM [ARGUMENT]. Each
// prints "good" when all went as its user may expect.
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fiber/fiber.hpp>

#include "tests/e2e/strangers/strangers.hpp"

namespace fiber::strangers {
namespace {

using namespace std::chrono_literals;

// -- descriptors --

int closes_later(fiber::Pool& pool, const char* file) {
  std::fclose(stdin);
  std::fclose(stdout);
  std::fclose(stderr);
  auto shout = [](int i) {
    std::cerr << "task " << i << std::endl; // Which the driver has no place for.
    return 2 * i;
  };
  auto all = pool.map(shout, numbers(500)).size() == 500;
  fiber::Pool second(2); // Its links and pipes are opened now.
  std::ofstream(file) << (all && works(second) && works(pool) ? "good" : "bad");
  return EXIT_SUCCESS;
}

/// A task that never ends and leaves its job without a connection.
int closes_links(const std::string& how) {
  for (int fd = 3; fd < 1024; ++fd)
    how == "close" ? ::close(fd) : ::shutdown(fd, SHUT_RDWR);
  for (;;)
    ::pause();
}
/// How the loss of such a job is told.
std::string loss_by(const std::string& how) {
  fiber::Pool pool({.workers = 1, .max_retries = 0});
  try {
    pool.apply(closes_links, how);
  } catch (const fiber::WorkerLost& lost) {
    return works(pool) ? "the pool counts no loss" : lost.what();
  }
  return "no loss";
}

// -- stacks --

/// Uses 5 MiB of its stack.
int deep(int i) {
  std::array<volatile char, 5 << 20> all;
  for (std::size_t at = 0; at < all.size(); at += 4096)
    all[at] = static_cast<char>(i);
  return all[4096] == static_cast<char>(i) ? 2 * i : 0;
}
struct Deep {
  int call(int i) { return deep(i); }
};
bool uses_deep_stacks() {
  fiber::Pool pool({.workers = 2, .workers_per_job = 2});
  auto results = pool.map(deep, numbers(100));
  fiber::Manager manager;
  auto object = manager.create<Deep>();
  return results[99] == 198 && pool.stats().workers_lost == 0 &&
         pool.apply_async(twice, 1).then(deep).get() == 4 &&
         object.call<&Deep::call>(4) == 8;
}

// -- limits --

/// Leaves memory for the stacks of two threads or so.
void limit_memory() {
  long pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE) + (20L << 20));
  ::setrlimit(RLIMIT_AS, &limit);
}

/// As in a sandbox that knows pidfd_open only.
void refuse_signals_by_pidfd() {
  constexpr auto number = static_cast<std::uint32_t>(offsetof(seccomp_data, nr));
  std::array<sock_filter, 4> filter{
    sock_filter(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, number)),
    sock_filter(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_send_signal, 0, 1)),
    sock_filter(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS)),
    sock_filter(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW))};
  sock_fprog program{filter.size(), filter.data()};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
bool kills_processes() {
  fiber::Process sleeper([] { std::this_thread::sleep_for(1h); });
  sleeper.start();
  sleeper.pid(); // Waits until it runs.
  sleeper.kill();
  return sleeper.join(30s) && sleeper.exit_code() == -SIGKILL;
}

/// Forbids this process to write a file beyond one page. Returns whether a write fails.
bool fills(const std::string& file) {
  constexpr rlim_t most = 4096;
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = most;
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::ofstream out(file);
  out << std::string(2 * most, '.') << std::flush;
  return !out;
}
/// A task fills a file, and the driver a file and its trace.
bool fills_files(const std::string& file) {
  fiber::Pool pool(2);
  auto good = works(pool) && pool.apply(fills, file) && fills(file);
  return good && works(pool, 1000);
}

// -- signals --

/// The signals that a program which a member of a ring starts would ignore.
std::string ignored_signals(fiber::RingMember& member) {
  member.barrier();
  std::string line(80, '\0');
  auto* pipe = ::popen("grep SigIgn /proc/self/status", "r");
  line.resize(std::fread(line.data(), 1, line.size(), pipe));
  ::pclose(pipe);
  return line;
}
bool rings_pass_no_signals_on() {
  fiber::Ring ring(2, ignored_signals);
  for (auto& line : ring.run()) {
    auto mask = std::stoull(line.substr(line.find('\t') + 1), nullptr, 16);
    if ((mask >> (SIGPIPE - 1) & 1) != 0)
      return false;
  }
  return true;
}

// -- times --

struct Fails {
  void call() { std::abort(); }
};
bool takes_extreme_times() {
  constexpr auto longest = std::chrono::milliseconds::max();
  constexpr auto shortest = std::chrono::milliseconds::min();
  fiber::Pool pool({.workers = 2, .task_timeout = longest, .cancel_grace = longest});
  pool.autoscale(1, 2, longest);
  auto good = works(pool) && pool.wait_until_workers_up(shortest) >= false;
  fiber::Lock lock;
  auto taken = pool.apply(
    [](fiber::Lock held) {
      held.lock();
      return true;
    },
    lock);
  using Steady = std::chrono::steady_clock;
  using File = std::chrono::file_clock; // Its epoch is in the future.
  using Seconds = std::chrono::duration<double>;
  good = good && taken && !lock.try_lock_until(Steady::time_point::min()) &&
         !lock.try_lock_until(std::chrono::system_clock::time_point::min()) &&
         !lock.try_lock_until(File::time_point::min()) && !lock.try_lock_for(shortest) &&
         !lock.try_lock_for(Seconds(std::nan(""))) && !lock.try_lock_for(Seconds(-1e300));
  fiber::Queue<int> queue(1);
  good = good && !queue.get(shortest) && !queue.get(Seconds(-1e300));
  queue.put(1);
  good = good && queue.get(Seconds(1e300)) == 1;
  fiber::Event event;
  event.set();
  good = good && event.wait(longest) && event.wait(Seconds(HUGE_VAL));
  fiber::Supervisor supervisor({.intensity = 2,
                                .period = std::chrono::seconds::max(),
                                .backoff = {.first = 0ms, .most = longest}});
  auto child = supervisor.spawn<Fails>({.name = "fails"});
  try {
    child.call<&Fails::call>();
    good = false;
  } catch (const fiber::WorkerLost&) { // The supervisor of a driver that lives says so.
  }
  return good;
}

// -- what a program does before fiber::init, in its driver and in its jobs --

/// Sorts the arguments as getopt() does: options first. A job gets them unsorted.
bool sorts_its_arguments(int argc, char** argv) {
  if (argc != 4 || std::strcmp(argv[2], "file") != 0)
    return false;
  while (::getopt(argc, argv, "x") != -1) {
  }
  return std::strcmp(argv[1], "-x") == 0;
}
/// Removes the program's file, and puts another one in its place if that is wanted.
void removes_its_file(bool replaces) {
  auto file = std::filesystem::read_symlink("/proc/self/exe");
  if (std::filesystem::remove(file) && replaces)
    std::ofstream(file) << "another program";
}
void moves() {
  ::unsetenv("PATH");
  ::setenv("STRANGER", "has moved", 1);
  ::umask(0777);
  if (::chdir("/") != 0)
    std::abort();
}
bool has_moved(fiber::Pool& pool) {
  return pool.apply([] {
    const auto* name = std::getenv("STRANGER");
    return name != nullptr && std::string_view(name) == "has moved" &&
           std::getenv("PATH") == nullptr && ::umask(0777) == 0777 &&
           std::filesystem::current_path() == "/";
  });
}

/// Returns the exit code if the program has got other arguments than it was started with.
int act_before_init(std::string_view program, int argc, char** argv) {
  if (program == "split") {
    if (argc < 3 || std::strtok(argv[2], ",") == nullptr ||
        std::strtok(nullptr, ",") == nullptr || std::strtok(nullptr, ",") == nullptr)
      return 64;
    std::strcpy(argv[0], "x");
  }
  if (program == "closed")
    for (int fd : {0, 1, 2})
      ::close(fd);
  if (program == "sorts" && !sorts_its_arguments(argc, argv))
    return 64;
  if (program == "removes" || program == "replaces")
    removes_its_file(program == "replaces");
  if (program == "moves")
    moves();
  return 0;
}

} // namespace
} // namespace fiber::strangers

int main(int argc, char** argv) {
  using namespace fiber::strangers;
  const std::string_view program = argc > 1 ? argv[1] : "";
  char* argument = argc > 2 ? argv[2] : nullptr;
  if (auto code = act_before_init(program, argc, argv))
    return code;
  if (program == "driver_forks")
    return forks_in_driver(argc, argv);
  if (program == "daemon")
    return becomes_a_daemon(argc, argv, argument);
  if (program == "few_threads") {
    limit_memory();
    return fiber::main_guard([&] { auto session = fiber::init(argc, argv); });
  }
  if (program == "no_pidfd_signals")
    refuse_signals_by_pidfd();
  if (program == "statics")
    return keeps_all_in_statics(argc, argv, argument);
  auto session = fiber::init(argc, argv);
  if (program == "forks")
    return say(forks_in_jobs());
  if (program == "no_pidfd_signals")
    return say(kills_processes());
  if (program == "signals")
    return say(rings_pass_no_signals_on());
  if (program == "fills")
    return say(fills_files(argument));
  if (program == "stacks")
    return say(uses_deep_stacks());
  if (program == "loses_links") {
    std::cout << loss_by(argument) << std::endl;
    return EXIT_SUCCESS;
  }
  if (program == "times")
    return say(takes_extreme_times());
  fiber::Pool pool(2);
  if (program == "moves")
    return say(has_moved(pool) && works(pool));
  if (program == "closes_later")
    return closes_later(pool, argument);
  if (program == "closed" || program == "write") {
    std::ofstream(argument) << (works(pool) ? "good" : "bad");
    return EXIT_SUCCESS;
  }
  try {
    return say(works(pool));
  } catch (const fiber::BackendError& error) {
    std::cout << error.what() << std::endl;
    return EXIT_FAILURE;
  }
}
