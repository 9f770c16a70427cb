// SPDX-License-Identifier: Apache-2.0
// A pool's life: options, resize, close, terminate, join, what is used after the end.

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <numeric>
#include <ranges>
#include <set>
#include <thread>

#include <fiber/fiber.hpp>

#include "tests/e2e/support/memory.hpp"
#include "tests/e2e/support/modes.hpp"

namespace fiber::e2e {
namespace {

int squared(int x) {
  return x * x;
}
int process(int) {
  std::this_thread::sleep_for(std::chrono::milliseconds(5)); // So that others get some.
  return getpid();
}
void long_nap() {
  std::this_thread::sleep_for(std::chrono::minutes(10));
}

std::set<int> processes(Pool& pool, int tasks) {
  auto pids = pool.map(process, std::views::iota(0, tasks));
  return {pids.begin(), pids.end()};
}

struct PoolLife : SessionTest {};

TEST_F(PoolLife, options_that_make_no_sense_are_refused) {
  open();
  EXPECT_THROW(Pool(PoolOptions{.workers_per_job = 0}), ConfigError);
  EXPECT_THROW(Pool(PoolOptions{.max_retries = -2}), ConfigError);
  EXPECT_THROW(Pool(static_cast<std::size_t>(-1)), ConfigError);
}

/// Until it goes away no thread can start: each would need a stack larger than memory.
class NoThreads {
public:
  NoThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, std::size_t{1} << 50);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  ~NoThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }

private:
  pthread_attr_t before_{};
};

/// Until it goes away no file, in memory or not, can grow.
class NoBytes {
public:
  NoBytes() : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit none{0, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
  }
  ~NoBytes() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

private:
  void (*handler_)(int);
  rlimit before_{};
};

// Not for lack of descriptors: without any UBSan can't tell what type an object has.
TEST_F(PoolLife, what_the_machine_refuses_is_a_backend_error) {
  auto status_of = [](auto action) {
    try {
      action();
    } catch (const BackendError& error) {
      return error.status();
    }
    return 0;
  };
  EXPECT_EQ(status_of([&] {
              NoThreads lack;
              open();
            }),
            EAGAIN);
  open();
  std::vector<int> data(100);
  EXPECT_EQ(status_of([&] {
              NoBytes lack;
              share(std::span<const int>(data));
            }),
            EFBIG);
  EXPECT_EQ(share(std::span<const int>(data)).size(), 100U);
}

TEST_F(PoolLife, a_pool_needs_a_session) {
  EXPECT_THROW(Pool(1), Closed);
}

TEST_F(PoolLife, workers_start_with_the_first_task) {
  open();
  Pool pool(2);
  EXPECT_EQ(pool.stats().workers, 0U);
  EXPECT_EQ(pool.apply(squared, 3), 9);
  EXPECT_TRUE(pool.wait_until_workers_up(std::chrono::minutes(1)));
  EXPECT_EQ(pool.stats().workers, 2U);
}

/// What a task sees of its share of the machine: its cores, the threads of OpenMP, and
/// the workers of a pool with the default number.
std::string share_of_task() {
  Pool pool;
  pool.wait_until_workers_up(std::chrono::minutes(1));
  const char* threads = std::getenv("OMP_NUM_THREADS");
  const char* gpus = std::getenv("CUDA_VISIBLE_DEVICES");
  return std::to_string(cpu_count()) + " cores, " + (threads ? threads : "no") +
         " threads, " + std::to_string(pool.stats().workers) +
         " workers, GPUs: " + (gpus ? gpus : "all");
}

TEST_F(PoolLife, a_task_has_the_share_of_its_job) {
  open();
  Pool one(1);
  EXPECT_EQ(one.apply(share_of_task), "1 cores, 1 threads, 1 workers, GPUs: ");
  auto cores = std::to_string(std::min<std::size_t>(2, cpu_count()));
  Pool two(PoolOptions{.workers = 1, .resources = {.cpu = 2}});
  EXPECT_EQ(two.apply(share_of_task),
            cores + " cores, 2 threads, " + cores + " workers, GPUs: ");
}

TEST_F(PoolLife, who_waits_for_workers_is_told_why_there_are_none) {
  open();
  Pool broken(PoolOptions{.workers = 1,
                          .initializer = [] { throw std::runtime_error("no licence"); }});
  try {
    broken.wait_until_workers_up(std::chrono::minutes(1));
    FAIL() << "they are up";
  } catch (const BackendError& error) {
    EXPECT_NE(error.detail().find("no licence"), std::string::npos) << error.what();
  }
  Pool ended(PoolOptions{.workers = 1, .initializer = long_nap});
  std::thread waits(
    [&] { EXPECT_THROW(ended.wait_until_workers_up(std::chrono::minutes(1)), Closed); });
  EXPECT_EQ(await_jobs(1).size(), 1U);
  ended.terminate();
  waits.join();
}

TEST_F(PoolLife, slots_of_one_job_share_its_process) {
  open();
  Pool pool(PoolOptions{.workers = 4, .workers_per_job = 2});
  ASSERT_TRUE(pool.wait_until_workers_up(std::chrono::minutes(1)));
  EXPECT_EQ(processes(pool, 200).size(), 2U);
}

TEST_F(PoolLife, a_worker_is_replaced_after_its_number_of_tasks) {
  open();
  Pool pool(PoolOptions{.workers = 1, .max_tasks_per_worker = 5});
  EXPECT_EQ(processes(pool, 20).size(), 4U);
  EXPECT_EQ(pool.stats().workers_lost, 0U);
}

TEST_F(PoolLife, a_worker_ends_though_a_thread_of_its_own_holds_a_stream) {
  open();
  Pool pool(PoolOptions{.workers = 1, .max_tasks_per_worker = 1});
  auto read_for_ever = [](int) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0)
      throw std::runtime_error("no pipe");
    std::thread([from = fdopen(ends[0], "r")] {
      while (std::getc(from) == EOF) // Holds the stream's lock.
        std::clearerr(from);
    }).detach();
    return static_cast<int>(getpid());
  };
  auto pids = pool.map(read_for_ever, {1, 2, 3});
  EXPECT_EQ(std::set<int>(pids.begin(), pids.end()).size(), 3U);
}

TEST_F(PoolLife, resize_adds_and_takes_workers_while_a_map_runs) {
  open();
  Pool pool(1);
  auto results = pool.map_async(process, std::views::iota(0, 400));
  pool.resize(4);
  EXPECT_TRUE(pool.wait_until_workers_up(std::chrono::minutes(1)));
  EXPECT_EQ(pool.stats().workers, 4U);
  pool.resize(2);
  EXPECT_EQ(results.get().size(), 400U);
  auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (pool.stats().workers != 2 && std::chrono::steady_clock::now() < until)
    std::this_thread::yield();
  EXPECT_EQ(pool.stats().workers, 2U);
  EXPECT_EQ(pool.stats().failed, 0U);
  EXPECT_EQ(pool.stats().workers_lost, 0U);
}

TEST_F(PoolLife, close_lets_tasks_finish_and_join_waits) {
  open();
  Pool pool(2);
  auto results = pool.map_async(process, std::views::iota(0, 50));
  EXPECT_THROW(pool.join(), Error);
  pool.close();
  EXPECT_THROW(pool.apply(squared, 1), Closed);
  pool.join();
  EXPECT_TRUE(results.ready());
  EXPECT_EQ(results.get().size(), 50U);
}

TEST_F(PoolLife, terminate_cancels_what_runs_and_what_waits) {
  open();
  Pool pool(1);
  auto running = pool.apply_async(long_nap);
  auto waiting = pool.apply_async(squared, 2);
  pool.terminate();
  pool.join();
  EXPECT_THROW(running.get(), Cancelled);
  EXPECT_THROW(waiting.get(), Cancelled);
  EXPECT_THROW(pool.apply(squared, 1), Closed);
}

TEST_F(PoolLife, a_queued_task_can_be_cancelled) {
  open();
  Pool pool(1);
  std::vector<Future<int>> futures;
  for (int i = 0; i < 20; ++i)
    futures.push_back(pool.apply_async(process, i));
  futures.back().cancel();
  EXPECT_THROW(futures.back().get(), Cancelled);
  for (std::size_t i = 0; i + 1 < futures.size(); ++i)
    EXPECT_GT(futures[i].get(), 0);
}

TEST_F(PoolLife, a_stream_that_is_dropped_cancels_its_rest) {
  open();
  Pool pool(1);
  {
    auto range = pool.imap(process, std::views::iota(0));
    EXPECT_GT(*range.begin(), 0);
  }
  EXPECT_EQ(pool.apply(squared, 3), 9);
}

// The range gives its items far sooner than the pool has their results.
TEST_F(PoolLife, millions_of_lazy_items_take_bounded_memory) {
  open();
  Pool pool(2);
  std::size_t max_queued = 0, max_bytes = 0;
  int given = 0, got = 0, max_ahead = 0;
  long long sum = 0;
#ifdef __SANITIZE_THREAD__ // Ten would take too long.
  constexpr int n = 1000000;
  constexpr std::size_t room = 512U << 20; // With its shadow.
#else
  constexpr int n = 10000000;
  constexpr std::size_t room = 64U << 20;
#endif
  auto items = std::views::iota(0, n) | std::views::transform([&](int i) {
                 given = i + 1;
                 return i % 10;
               });
  const auto bytes_before = used_bytes();
  for (auto value : pool.imap(squared, items)) {
    sum += value;
    max_ahead = std::max(max_ahead, given - ++got);
    if (got % 65536 != 0)
      continue;
    max_queued = std::max(max_queued, pool.stats().queued);
    max_bytes = std::max(max_bytes, used_bytes());
  }
  EXPECT_EQ(sum, 285LL * n / 10);
  EXPECT_LT(max_ahead, 100000);
  EXPECT_LT(max_queued, 100000U);
  EXPECT_LT(max_bytes, bytes_before + room); // All of them: 160 MB and more.
  EXPECT_GT(max_bytes, 0U);                  // Something was measured.
}

rlim_t soft_limit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

/// With a soft limit of open files that is soon reached.
class FewDescriptors : public EveryMode {
protected:
  FewDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit few{256, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() override {
    close();
    EXPECT_EQ(soft_limit(), 256U);
    setrlimit(RLIMIT_NOFILE, &before_);
  }

private:
  rlimit before_{};
};

TEST_P(FewDescriptors, are_enough_for_many_workers_which_keep_the_usual_limit) {
  Pool pool(100); // Of which each takes three.
  auto seen = pool.map(
    [](int) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return soft_limit();
    },
    std::views::iota(0, 1000));
  EXPECT_TRUE(pool.wait_until_workers_up(deadline));
  EXPECT_EQ(pool.stats().workers, 100U);
  EXPECT_EQ(seen, std::vector<rlim_t>(1000, 256));
}

INSTANTIATE_TEST_SUITE_P(On, FewDescriptors,
                         testing::Values(modes()[0], modes()[1], modes()[2]), mode_name);

TEST_F(PoolLife, what_outlives_the_session_is_closed) {
  open();
  auto pool = std::make_unique<Pool>(1);
  auto future = pool->apply_async(long_nap);
  auto done = pool->apply_async(squared, 3);
  auto value = share(std::string("kept"));
  close();
  EXPECT_THROW(pool->apply(squared, 1), Closed);
  EXPECT_THROW(future.get(), Error);
  EXPECT_THROW(done.get(), Error); // It stood behind one that never ends.
  EXPECT_EQ(*value, "kept");
  pool.reset();
}

TEST_F(PoolLife, a_function_that_needs_more_than_the_pool_has_is_refused) {
  open();
  Pool pool(PoolOptions{.workers = 1, .resources = {.cpu = 1, .memory_mb = 100}});
  EXPECT_THROW(pool.apply(meta(squared, {.cpu = 4}), 2), ConfigError);
  EXPECT_THROW(pool.apply(bind(meta(squared, {.gpu = 1}), 2)), ConfigError);
  EXPECT_EQ(pool.apply(meta(squared, {.cpu = 1, .memory_mb = 50}), 2), 4);
}

TEST_F(PoolLife, one_session_at_a_time) {
  open();
  int argc = 1;
  char name[] = "test";
  char* arguments[] = {name, nullptr};
  char** argv = arguments;
  EXPECT_THROW(static_cast<void>(fiber::init(argc, argv)), Error);
  close();
  EXPECT_NO_THROW(static_cast<void>(fiber::init(argc, argv)));
}

TEST_F(PoolLife, inline_runs_nested_calls_on_one_thread) {
  open({.backend = "inline"});
  static Pool* pool = nullptr; // In this process, unlike in a job, a task can reach it.
  Pool here(2);
  pool = &here;
  auto nested = [](int x) { return pool->apply(squared, x) + 1; };
  EXPECT_EQ(here.map(nested, std::vector<int>{1, 2, 3}), (std::vector<int>{2, 5, 10}));
  auto thread =
    here.apply([] { return std::hash<std::thread::id>()(std::this_thread::get_id()); });
  EXPECT_EQ(thread, std::hash<std::thread::id>()(std::this_thread::get_id()));
}

TEST_F(PoolLife, inline_runs_nothing_of_a_pool_that_was_terminated) {
  open({.backend = "inline"});
  static int runs = 0;
  Pool pool(1);
  pool.apply([] { ++runs; }); // The worker is up and takes what comes.
  auto results = pool.map_async(
    [](int) {
      ++runs;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    },
    std::views::iota(0, 1000));
  pool.terminate();
  pool.join();
  EXPECT_EQ(runs, 1);
  EXPECT_THROW(results.get(), Cancelled);
}

TEST_F(PoolLife, inline_survives_an_initializer_that_throws) {
  open({.backend = "inline"});
  Pool pool(PoolOptions{.workers = 2, .workers_per_job = 2, .initializer = [] {
                          throw std::runtime_error("no such file");
                        }});
  EXPECT_THROW(pool.apply(squared, 2), BackendError);
  Pool other(2);
  EXPECT_EQ(other.apply(squared, 2), 4);
}

TEST_F(PoolLife, inline_waits_with_the_end_for_a_task_that_runs) {
  open({.backend = "inline"});
  static std::atomic<bool> running, may_end, ended, over;
  running = may_end = ended = over = false;
  Pool pool(1);
  auto future = pool.apply_async([] {
    running = true;
    while (!may_end)
      std::this_thread::yield();
    ended = true;
  });
  std::thread waits([&] { future.wait_for(std::chrono::minutes(1)); });
  EXPECT_TRUE(wait_until([] { return running.load(); }));
  std::thread lets([&] {
    EXPECT_TRUE(wait_until([&] { return future.ready(); })); // The pool has gone.
    EXPECT_FALSE(wait_until([] { return over.load(); }, std::chrono::milliseconds(200)));
    may_end = true;
  });
  close();
  EXPECT_TRUE(ended);
  over = true;
  waits.join();
  lets.join();
}

} // namespace
} // namespace fiber::e2e
