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
#include <functional>
#include <iostream>
#include <map>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fiber/fiber.hpp>

namespace {

using namespace std::chrono_literals;

std::optional<fiber::Session> static_session;
std::optional<fiber::Pool> static_pool;

int twice(int i) {
  return 2 * i;
}
std::vector<int> numbers(int n) {
  std::vector<int> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}
/// Whether a pool does its work, and loses no worker.
bool works(fiber::Pool& pool, int tasks = 100) {
  auto results = pool.map(twice, numbers(tasks));
  long sum = std::accumulate(results.begin(), results.end(), 0L);
  return sum == long{tasks} * (tasks - 1) && pool.stats().workers_lost == 0;
}

int say(bool good) {
  std::cout << (good ? "good" : "bad") << std::endl;
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

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

// -- forks --

/// Forks a child that leaves the function as a caller would not expect; waits for it.
template <class F>
int parent_of(F in_child) {
  auto pid = ::fork();
  if (pid == 0)
    in_child();
  else if (int status = 0; ::waitpid(pid, &status, 0) == pid && WIFEXITED(status))
    return WEXITSTATUS(status);
  return pid == 0 ? 0 : -1;
}
int child_returns(int) {
  return parent_of([] {});
}
int child_throws(int) {
  return parent_of([] { throw std::runtime_error("thrown in the child"); });
}
int child_asks(fiber::Queue<int> queue) {
  return parent_of([&] {
    try {
      queue.put(1);
    } catch (const fiber::Closed&) {
      ::_exit(7);
    }
    ::_exit(8);
  });
}
struct Forks {
  int call() {
    return parent_of([] {});
  }
};
int ring_member(fiber::RingMember& member) {
  auto code = parent_of([] {});
  std::array<int, 1> sum{1};
  member.allreduce(sum);
  return 10 * code + sum[0];
}

bool forks_in_jobs() {
  auto ones = [](const std::vector<int>& codes) {
    return codes == std::vector<int>(codes.size(), EXIT_FAILURE);
  };
  fiber::Pool pool(2);
  auto good = ones(pool.map(child_returns, numbers(6))) &&
              ones(pool.map(child_throws, numbers(6))) && works(pool);
  fiber::Queue<int> queue(9);
  good = good && pool.apply(child_asks, queue) == 7 && queue.size() == 0;
  fiber::Pool with_initializer({.workers = 2, .initializer = [] { parent_of([] {}); }});
  good = good && works(with_initializer);
  fiber::Process process([] { child_returns(0); });
  process.start();
  process.join();
  good = good && process.exit_code() == 0;
  fiber::Manager manager;
  auto object = manager.create<Forks>();
  good = good && object.call<&Forks::call>() == EXIT_FAILURE &&
         object.call<&Forks::call>() == EXIT_FAILURE;
  fiber::Ring ring(2, ring_member);
  return good && ring.run() == std::vector<int>{12, 12};
}

int slow_twice(int i) {
  std::this_thread::sleep_for(2ms);
  return 2 * i;
}
/// A child of the driver can't use the session, and ends by returning from main().
int forks_in_driver(int argc, char** argv) {
  auto session = fiber::init(argc, argv);
  fiber::Pool pool(2);
  fiber::Queue<int> queue(9);
  fiber::Lock lock;
  auto running = pool.map_async(slow_twice, numbers(300));
  auto pid = ::fork();
  if (pid == 0) {
    int refused = 0;
    for (const auto& use : std::vector<std::function<void()>>{
           [&] { pool.apply(twice, 1); }, [&] { queue.put(1); }, [&] { lock.lock(); },
           [&] { running.get(); }, [] { fiber::Manager(); }, [] { fiber::Pool(1); }})
      try {
        use();
      } catch (const fiber::Error& error) {
        refused += std::strstr(error.what(), "forked") != nullptr ? 1 : 0;
      }
    return 40 + refused;
  }
  int status = 0;
  auto child =
    ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (child != 46)
    std::cout << "the child ended with " << child << std::endl;
  return say(child == 46 && running.get().size() == 300 && works(pool));
}

/// The daemon is the child of a driver. It says so instead of waiting for ever.
int becomes_a_daemon(int argc, char** argv, const std::string& file) {
  auto session = fiber::init(argc, argv);
  fiber::Pool pool(2);
  if (::daemon(1, 1) != 0)
    return EXIT_FAILURE;
  try {
    pool.apply(twice, 1);
  } catch (const fiber::Error& error) {
    std::ofstream(file + ".draft") << error.what();
    std::rename((file + ".draft").c_str(), file.c_str());
  }
  return EXIT_SUCCESS;
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

int main(int argc, char** argv) {
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
  if (program == "static") {
    static_session.emplace(fiber::init(argc, argv));
    static_pool.emplace(2);
    return say(works(*static_pool));
  }
  auto session = fiber::init(argc, argv);
  if (program == "forks")
    return say(forks_in_jobs());
  if (program == "no_pidfd_signals")
    return say(kills_processes());
  if (program == "signals")
    return say(rings_pass_no_signals_on());
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
