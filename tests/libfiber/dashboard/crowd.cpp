// SPDX-License-Identifier: Apache-2.0
// A program for the tests of the page: a made-up session of many workers, whose tasks
// come and go though nobody runs them. Each worker is a process that sleeps, so that
// there is something to read about it.
//
// usage: dashboard_crowd WORKERS TASKS
//
// It prints the address of its page on stderr, and reads commands from stdin, one word a
// line. "tasks": the tasks end within some ten seconds, and from then on a few more each
// second. "lose": the next worker is lost. "wait": there is a job that waits. "end": the
// program ends.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <sys/prctl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "libfiber/dashboard/dashboard.hpp"
#include "libfiber/observer/session_view.hpp"

namespace fiber {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t tasks_in_a_frame = 25;
constexpr int ticks = 1000; ///< In which the tasks end.
constexpr auto tick = 10ms;
constexpr int frames_afterwards = 4; ///< In each tick.
constexpr int failure_every = 2000;  ///< Frames.

/// Starts processes that sleep until this one ends.
std::vector<pid_t> sleepers(std::size_t n) {
  std::vector<pid_t> pids;
  for (std::size_t i = 0; i < n; ++i) {
    auto pid = ::fork();
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;)
        ::pause();
    }
    pids.push_back(pid);
  }
  return pids;
}

/// The pool of these workers.
class Crowd final : public observer::Part {
public:
  Crowd(std::vector<pid_t> workers, std::uint64_t tasks, actors::Roster& roster)
    : roster_(roster), tasks_(tasks), free_since_(workers.size(), Clock::now()) {
    roster_.keep_stream();
    for (std::size_t i = 0; i < workers.size(); ++i)
      start(i, workers[i]);
  }

  const char* list() const override { return "pools"; }
  bool gone() const override { return false; }
  Answer look() override {
    return [this](Clock::time_point) -> std::optional<json> { return entry(); };
  }

  /// Ends the tasks, one frame after the other, and then more until `over` is set.
  void run(const std::atomic<bool>& over) {
    auto next = Clock::now();
    auto frames = tasks_ / tasks_in_a_frame, each = frames / ticks;
    for (int i = 0; i < ticks && !over; ++i, std::this_thread::sleep_until(next += tick))
      for (std::uint64_t n = 0; n < each; ++n)
        end_frame();
    for (; !over; std::this_thread::sleep_until(next += tick))
      for (int n = 0; n < frames_afterwards; ++n)
        end_frame();
  }

  void lose(std::size_t worker) {
    roster_.lost(worker + 1, "killed by SIGKILL", -9, false);
  }

  /// Adds a job that no node takes.
  void wait() {
    auto number = free_since_.size() + 1;
    actors::JobEntry job;
    job.node = job.job = "waiting";
    job.kind = "process";
    roster_.expect(number, job);
    roster_.waits(number, "Unschedulable: <b>0/3 nodes</b>");
  }

private:
  void start(std::size_t i, pid_t pid) {
    actors::JobEntry job;
    job.node = "pool1.w" + std::to_string(i);
    job.job = job.node + "-" + std::to_string(i + 1);
    job.kind = "pool";
    roster_.expect(i + 1, job);
    roster_.created(i + 1, std::to_string(pid));
    roster_.up(i + 1, pid, {});
  }

  void end_frame() {
    actors::StreamSpan span;
    span.pool = "pool1";
    span.worker = random_() % free_since_.size();
    span.call = 1 + done_ * 4 / (tasks_ + 1);
    span.first = done_;
    span.tasks = tasks_in_a_frame;
    span.from = free_since_[span.worker];
    span.to = free_since_[span.worker] = Clock::now();
    if (++frames_ % failure_every == 0) {
      span.outcome = actors::StreamSpan::Outcome::failed;
      span.failed = 1;
      roster_.task_failed("pool1", done_, "std::runtime_error: made up");
    }
    roster_.stream()->add(std::move(span));
    done_ += tasks_in_a_frame;
  }

  json entry() const {
    auto jobs = json::array();
    for (std::size_t i = 0; i < free_since_.size(); ++i) {
      auto& job = jobs.emplace_back(json::object()); // As a pool does it.
      job["incarnation"] = i + 1;
      job["tasks"] = 1;
    }
    auto workers = free_since_.size();
    std::uint64_t done = done_;
    return {{"name", "pool1"},
            {"workers_up", workers},
            {"workers_wanted", workers},
            {"queued", tasks_ - std::min(tasks_, done)},
            {"running", workers},
            {"prefetched", 0},
            {"done", done},
            {"failed", 0},
            {"retries", 0},
            {"workers_lost", 0},
            {"bytes_sent", 0},
            {"bytes_received", 0},
            {"p50_seconds", 0.01},
            {"p99_seconds", 0.1},
            {"tasks_per_second", 1e5},
            {"calls",
             {{{"call", 1},
               {"function", "made_up(int)"},
               {"done", std::min(tasks_, done)},
               {"total", tasks_},
               {"total_known", true}}}},
            {"jobs", jobs}};
  }

  actors::Roster& roster_;
  const std::uint64_t tasks_;
  std::vector<Clock::time_point> free_since_; ///< By worker.
  std::mt19937 random_;
  std::uint64_t frames_ = 0;
  std::atomic<std::uint64_t> done_ = 0;
};

/// Serves the page, and obeys until "end".
void serve(std::vector<pid_t> workers, std::uint64_t tasks) {
  auto roster = std::make_shared<actors::Roster>();
  auto crowd = std::make_shared<Crowd>(std::move(workers), tasks, *roster);
  observer::SessionView view(
    {.name = "shown",
     .backend = "local",
     .roster = roster,
     .read_output =
       [](const std::string&) {
         auto reply = std::make_shared<observer::SessionView::OutputReply>();
         reply->set("made up\n");
         return reply;
       },
     .end_job = [](const std::string&) {}});
  view.add(crowd);
  dashboard::Dashboard page(
    {.host = "127.0.0.1", .port = 0, .token = {}, .certificate = {}, .key = {}}, view);
  std::cerr << "dashboard at " << page.url() << std::endl;
  std::atomic<bool> over = false;
  std::thread tasks_end;
  std::size_t lost = 0;
  std::cout << "ready" << std::endl;
  for (std::string word; std::cin >> word && word != "end";) {
    if (word == "tasks" && !tasks_end.joinable())
      tasks_end = std::thread([&] { crowd->run(over); });
    else if (word == "lose")
      crowd->lose(lost++);
    else if (word == "wait")
      crowd->wait();
    std::cout << word << std::endl;
  }
  over = true;
  if (tasks_end.joinable())
    tasks_end.join();
}

} // namespace
} // namespace fiber

int main(int argc, char** argv) {
  auto number = [&](int i) { return i < argc ? std::strtoull(argv[i], nullptr, 10) : 0; };
  if (number(1) == 0 || number(2) == 0) {
    std::cerr << "usage: dashboard_crowd WORKERS TASKS\n";
    return 2;
  }
  auto workers = fiber::sleepers(number(1)); // Before there are threads.
  fiber::serve(workers, number(2));
  for (auto pid : workers)
    ::kill(pid, SIGKILL);
}
