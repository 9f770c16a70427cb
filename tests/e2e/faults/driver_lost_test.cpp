// SPDX-License-Identifier: Apache-2.0
// The driver itself stops, or is gone from one moment to the next.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ostream>
#include <thread>

#include <sys/prctl.h>
#include <sys/wait.h>

#include <gtest/gtest.h>

#include "tests/e2e/support/driver_process.hpp"
#include "tests/e2e/support/notes.hpp"
#include "tests/e2e/support/processes.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

class StoppedDriver : public testing::TestWithParam<const char*> {};

TEST_P(StoppedDriver, loses_nothing_within_the_lease) {
  Scratch scratch;
  Driver driver("work", {std::string("FIBER_LINK=") + GetParam()});
  ASSERT_TRUE(wait_until([] { return notes("runs").size() >= 20; }));
  kill(driver.pid(), SIGSTOP);
  ASSERT_TRUE(wait_until([&] { return is_stopped(driver.pid()); }));
  // The stop itself, with the default settings: beyond a heartbeat_timeout of 10 s, below
  // a lease of 60 s.
  std::this_thread::sleep_for(20s);
  ASSERT_TRUE(is_stopped(driver.pid()));
  EXPECT_TRUE(notes("driver").empty());
  kill(driver.pid(), SIGCONT);
  EXPECT_EQ(driver.wait(), 0);
  EXPECT_EQ(notes("driver"), std::vector<std::string>{"good lost 0 retries 0"});
  auto counts = runs("runs", 200);
  EXPECT_EQ(std::count(counts.begin(), counts.end(), 1u), 200);
}

INSTANTIATE_TEST_SUITE_P(On, StoppedDriver, testing::Values("auto", "tls"),
                         [](auto& link) { return std::string(link.param); });

TEST(KilledDriverWith, a_journal_goes_on_where_it_was) {
  Scratch scratch;
  auto nothing_runs = [&] { return marked(scratch.mark()).empty(); };
  std::vector<std::size_t> seen(200), ran(200);
  for (std::size_t more : {20, 60, 90}) {
    auto before = notes("seen").size();
    Driver driver("resume"); // Which sees what the journal has again.
    ASSERT_TRUE(wait_until([&] { return notes("seen").size() >= before + more; }));
    kill(driver.pid(), SIGKILL);
    EXPECT_EQ(driver.wait(), -SIGKILL);
    ASSERT_TRUE(wait_until(nothing_runs));
    auto counts = runs("runs", 200);
    for (std::size_t i = 0; i < 200; ++i) {
      if (seen[i] > 0) {
        EXPECT_EQ(counts[i], ran[i]) << i << " ran again though its result was seen";
      }
    }
    seen = runs("seen", 200);
    ran = counts;
  }
  Driver driver("resume");
  EXPECT_EQ(driver.wait(), 0);
  EXPECT_EQ(notes("driver"), std::vector<std::string>{"200"});
  auto counts = runs("runs", 200);
  for (std::size_t i = 0; i < 200; ++i)
    EXPECT_EQ(counts[i], seen[i] > 0 ? ran[i] : std::max<std::size_t>(counts[i], 1)) << i;
  EXPECT_TRUE(wait_until(nothing_runs));
}

struct Held {
  const char* name;
  std::vector<std::string> settings;
};
void PrintTo(const Held& how, std::ostream* out) {
  *out << how.name;
}
const Held held[] = {{"local", {}},
                     {"tls", {"FIBER_LINK=tls"}},
                     {"no_zygote", {"FIBER_ZYGOTE=never"}},
                     {"no_zygote_tls", {"FIBER_ZYGOTE=never", "FIBER_LINK=tls"}}};

/// What a driver leaves behind becomes this process's, so that nothing escapes.
class KilledDriver : public testing::TestWithParam<Held> {
protected:
  KilledDriver() { prctl(PR_SET_CHILD_SUBREAPER, 1); }
  ~KilledDriver() override { prctl(PR_SET_CHILD_SUBREAPER, 0); }

  /// Collects dead children; true if there is no other.
  static bool nothing_left() {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    return waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD;
  }
};

TEST_P(KilledDriver, leaves_nothing_behind) {
  Scratch scratch;
  auto temporary = scratch.folder() / "tmp";
  std::filesystem::create_directory(temporary);
  auto in_tmp = fiber_names("/tmp"), in_shm = fiber_names("/dev/shm");
  auto settings = GetParam().settings;
  settings.insert(settings.end(), {"TMPDIR=" + temporary.string(), "FIBER_LEASE=20s"});
  Driver driver("hold", settings);
  std::vector<pid_t> workers;
  for (std::size_t i = 0; i < 4; ++i)
    workers.push_back(static_cast<pid_t>(noted("holding", i)));
  // The driver is in our process group, the tasks' children are in their jobs'; the rest
  // lead their own.
  ASSERT_TRUE(wait_until([&] {
    auto all = marked(scratch.mark());
    auto leads = [](const Process& process) { return process.pid == process.group; };
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), leads)) ==
           all.size() - 1 - workers.size();
  }));
  kill(workers[1], SIGSTOP);
  ASSERT_TRUE(wait_until([&] { return is_stopped(workers[1]); }));
  kill(driver.pid(), SIGKILL);
  EXPECT_EQ(driver.wait(), -SIGKILL);
  EXPECT_TRUE(wait_until([&] { return marked(scratch.mark()).empty(); }))
    << marked(scratch.mark()).size() << " processes are left";
  for (auto& process : marked(scratch.mark()))
    kill(process.pid, SIGKILL);
  EXPECT_TRUE(wait_until(nothing_left));
  EXPECT_TRUE(std::filesystem::is_empty(temporary));
  EXPECT_EQ(fiber_names("/tmp"), in_tmp);
  EXPECT_EQ(fiber_names("/dev/shm"), in_shm);
}

INSTANTIATE_TEST_SUITE_P(That, KilledDriver, testing::ValuesIn(held),
                         [](auto& how) { return how.param.name; });

} // namespace
} // namespace fiber::e2e
