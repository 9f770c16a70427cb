// SPDX-License-Identifier: Apache-2.0
// Tasks that end their job whenever they run, among good ones; and jobs that never come
// up.
#include <csignal>
#include <cstdlib>
#include <ostream>

#include <unistd.h>

#include <fiber/error.hpp>
#include <fiber/this_task.hpp>

#include "tests/e2e/support/fixture.hpp"

namespace fiber::e2e {
namespace {

constexpr std::size_t tasks = 300;

bool poisonous(std::size_t i) {
  return i == 0 || i == 137 || i == 138 || i == tasks - 1;
}

/// Uses the stack up, whatever the optimiser thinks.
int fall(volatile char* above) {
  volatile char here[4096];
  here[0] = above == nullptr ? '\0' : *above;
  if (here[0] == 77) // Never: but this must be able to end.
    return 0;
  here[4095] = static_cast<char>(fall(here) % 2);
  return here[4095];
}

template <auto die>
std::size_t f_or(std::size_t i) {
  note("runs", std::to_string(i));
  if (poisonous(i)) {
    std::signal(SIGSEGV, SIG_DFL); // ASan's handler would make it an exit.
    die();
  }
  return f(i);
}

struct Poison {
  const char* name;
  std::size_t (*task)(std::size_t);
  int exit; ///< What becomes of its job.
};
void PrintTo(const Poison& poison, std::ostream* out) {
  *out << poison.name;
}

void segfault() {
  volatile int* volatile nowhere = nullptr; // Whatever the optimiser knows.
  *nowhere = 1;                             // NOLINT: meant.
}
const Poison poisons[] = {
  {"abort", f_or<[] { std::abort(); }>, -SIGABRT},
  {"segfault", f_or<segfault>, -SIGSEGV},
  {"exit", f_or<[] { _exit(3); }>, 3},
  {"stack_overflow", f_or<[] { fall(nullptr); }>, -SIGSEGV},
};

class PoisonedPool : public SessionTest, public testing::WithParamInterface<Poison> {
protected:
  /// All poisonous tasks fail, each for its own exits; all others have their values.
  void expect_bystanders_well(PoolOptions options, MapOptions how) {
    open();
    Pool pool(options);
    auto outcomes = pool.map_async(GetParam().task, indices(tasks), how).outcomes();
    ASSERT_EQ(outcomes.size(), tasks);
    auto may_run = static_cast<std::size_t>(options.max_retries) + 1;
    auto counts = runs("runs", tasks);
    for (std::size_t i = 0; i < tasks; ++i) {
      if (!poisonous(i)) {
        ASSERT_TRUE(outcomes[i].ok()) << i;
        EXPECT_EQ(outcomes[i].value(), f(i));
        continue;
      }
      // A neighbour's poison may have struck first, but from then on it ran alone.
      EXPECT_GE(counts[i], may_run - 1) << i;
      try {
        outcomes[i].value();
        ADD_FAILURE() << i << " has a value";
      } catch (const WorkerLost& lost) {
        EXPECT_EQ(lost.index(), i);
        EXPECT_EQ(lost.exits(), std::vector<std::optional<int>>(may_run, GetParam().exit))
          << i;
        EXPECT_GE(lost.attempts(), static_cast<int>(may_run));
        EXPECT_FALSE(lost.reason().empty());
      }
    }
    auto stats = pool.stats();
    EXPECT_EQ(stats.done, tasks - 4);
    EXPECT_EQ(stats.failed, 4u);
    EXPECT_GE(stats.workers_lost, 4u);
    expect_works(pool, options.workers);
  }
};

TEST_P(PoisonedPool, fails_no_bystander_of_the_same_chunk) {
  expect_bystanders_well({.workers = 2, .max_retries = 1}, {.chunksize = 10});
}

TEST_P(PoisonedPool, fails_no_bystander_in_another_slot_of_the_job) {
  expect_bystanders_well({.workers = 4, .workers_per_job = 2, .max_retries = 1},
                         {.chunksize = 10});
}

TEST_P(PoisonedPool, fails_no_bystander_that_was_sent_ahead) {
  expect_bystanders_well({.workers = 4, .workers_per_job = 2, .max_retries = 2}, {});
}

INSTANTIATE_TEST_SUITE_P(By, PoisonedPool, testing::ValuesIn(poisons),
                         [](auto& poison) { return poison.param.name; });

class RestartStorm : public SessionTest {
protected:
  /// Everybody who asks the pool is told why it can't work.
  static void expect_told(Pool& pool, const std::string& cause) {
    try {
      pool.map(f, indices(10));
      ADD_FAILURE() << "no error";
    } catch (const BackendError& error) {
      EXPECT_NE(std::string(error.what()).find(cause), std::string::npos) << error.what();
    }
    EXPECT_THROW(pool.apply(f, std::size_t{1}), BackendError);
    EXPECT_THROW(pool.wait_until_workers_up(deadline), BackendError);
    EXPECT_EQ(pool.stats().workers, 0u);
    Pool other(2); // The session goes on.
    expect_works(other, 2);
  }
};

TEST_F(RestartStorm, of_jobs_that_abort_ends_with_an_error_that_names_the_signal) {
  open();
  Pool pool(PoolOptions{.workers = 2, .initializer = [] {
                          note("starts", "");
                          std::abort();
                        }});
  expect_told(pool, "SIGABRT");
  EXPECT_GE(notes("starts").size(), 6u); // It tried.
}

TEST_F(RestartStorm, of_initializers_that_throw_ends_with_an_error_that_names_what) {
  open();
  Pool pool(PoolOptions{.workers = 2, .initializer = [] {
                          note("starts", "");
                          throw std::runtime_error("no license left");
                        }});
  expect_told(pool, "no license left");
  EXPECT_GE(notes("starts").size(), 6u);
}

TEST_F(RestartStorm, does_not_follow_from_poison_alone) {
  open();
  Pool pool(PoolOptions{.workers = 1, .max_retries = 0});
  // More losses than the pool's intensity allows, each of them charged to its task.
  auto outcomes = pool
                    .map_async(
                      [](std::size_t) {
                        kill(getpid(), SIGKILL);
                        return 0;
                      },
                      indices(9))
                    .outcomes();
  for (auto& outcome : outcomes)
    EXPECT_THROW(outcome.value(), WorkerLost);
  EXPECT_EQ(pool.stats().workers_lost, 9u);
  expect_works(pool, 1);
}

} // namespace
} // namespace fiber::e2e
