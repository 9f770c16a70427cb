// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <exception>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include <fiber/fiber.hpp>

#include "bench/peers/measurement.hpp"

// One row of what supervised objects take to be there, and to be there again:
// supervisor_bench ROW. See bench/README.md.

namespace {

class Child {
public:
  int pid() const { return getpid(); }
};

double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Seconds from the kill of a child's process until a call of the child returns.
double restart_after_kill(const fiber::Ref<Child>& child) {
  auto killed = child.call<&Child::pid>();
  const peers::Stopwatch watch;
  kill(killed, SIGKILL);
  for (;;)
    try {
      if (child.call<&Child::pid>() != killed)
        return watch.seconds();
    } catch (const fiber::WorkerLost&) { // It was under way there.
    }
}

/// Each supervisor is a new one, as a child that fails again waits before it starts.
void restart(const std::string& row) {
  std::vector<double> first, second;
  for (int i = 0; i < 21; ++i) {
    fiber::Supervisor supervisor;
    auto child = supervisor.spawn<Child>();
    first.push_back(restart_after_kill(child));
    second.push_back(restart_after_kill(child));
  }
  peers::report(row, median(first), "s");
  peers::report("restart_again", median(second), "s");
}

/// What they answer, by the order of their spawns; all calls are under way at once.
std::vector<int> pids_of(const std::vector<fiber::Ref<Child>>& children) {
  std::vector<fiber::Future<int>> answers;
  answers.reserve(children.size());
  for (auto& child : children)
    answers.push_back(child.async<&Child::pid>());
  std::vector<int> pids;
  for (auto& answer : answers)
    pids.push_back(answer.get());
  return pids;
}

void thousand(const std::string& row) {
  constexpr std::size_t count = 1000, a_job = 63, jobs = (count + a_job - 1) / a_job;
  const peers::Stopwatch watch;
  fiber::Supervisor supervisor;
  std::vector<fiber::Ref<Child>> children;
  for (std::size_t i = 0; i < count; ++i)
    children.push_back(supervisor.spawn<Child>({.resources = {.cpu = 1.0 / a_job}}));
  auto pids = pids_of(children);
  peers::report(row, watch.seconds(), "s");

  std::vector<fiber::Ref<Child>> lost; // All that live in the first one's job.
  for (std::size_t i = 0; i < count; ++i)
    if (pids[i] == pids.front())
      lost.push_back(children[i]);
  std::ranges::sort(pids);
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  if (pids.size() != jobs || lost.size() != a_job)
    throw std::runtime_error("the children do not share jobs as they should");
  const peers::Stopwatch again;
  restart_after_kill(lost.front());
  pids_of(lost);
  peers::report("supervised_1k_again", again.seconds(), "s");
}

} // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)(const std::string&)> rows{
    {"restart", restart}, {"supervised_1k", thousand}};
  auto row = argc == 2 ? rows.find(argv[1]) : rows.end();
  if (row == rows.end()) {
    std::cerr << "usage: supervisor_bench ROW; the rows are in bench/README.md\n";
    return 2;
  }
  auto session = fiber::init(argc, argv);
  try {
    row->second(row->first);
  } catch (const std::exception& error) {
    std::cerr << row->first << ": " << error.what() << '\n';
    return 1;
  }
}
