// SPDX-License-Identifier: Apache-2.0
// A tour of supervision in five minutes: for each strategy three actors in processes of
// their own, of which one is killed; then a learner that continues from its checkpoint,
// and a supervisor that gives up.
#include <csignal>
#include <cstddef>
#include <fiber/fiber.hpp>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace {

/// Counts steps, and saves every tenth. After a restart it continues from the last save.
class Learner {
public:
  void on_restart(fiber::Checkpoint& saved) { steps_ = saved.load<int>().value_or(0); }
  int step() {
    if (++steps_ % 10 == 0)
      fiber::this_object::checkpoint().save(steps_);
    return steps_;
  }
  int pid() const { return getpid(); }

private:
  int steps_ = 0;
};

/// The process that an actor lives in now.
int pid_of(const fiber::Ref<Learner>& actor) {
  for (;;)
    try {
      return actor.call<&Learner::pid>();
    } catch (const fiber::WorkerLost&) { // It was killed meanwhile: ask its successor.
    }
}

/// Kills an actor, and returns when it lives in another process.
void kill_and_wait(const fiber::Ref<Learner>& actor) {
  const auto pid = pid_of(actor);
  ::kill(pid, SIGKILL);
  while (pid_of(actor) == pid) { // Its end has not been noticed yet.
  }
}

void show(const std::string& name, fiber::Strategy strategy) {
  std::cout << name << ": kill -9 learner\n";
  fiber::Supervisor supervisor({.strategy = strategy});
  const std::vector<std::string> names{"replay", "learner", "actor"};
  std::vector<fiber::Ref<Learner>> actors;
  std::vector<int> before;
  for (auto& each : names) {
    actors.push_back(supervisor.spawn<Learner>({.name = each}));
    before.push_back(pid_of(actors.back()));
  }
  kill_and_wait(actors[1]);
  for (std::size_t i = 0; i < actors.size(); ++i)
    std::cout << "  " << names[i] << " lives in "
              << (pid_of(actors[i]) == before[i] ? "the same process\n"
                                                 : "a new process\n");
}

void show_checkpoint() {
  fiber::Supervisor supervisor;
  auto learner = supervisor.spawn<Learner>({.name = "learner"});
  int steps = 0;
  for (int i = 0; i < 25; ++i)
    steps = learner.call<&Learner::step>();
  std::cout << "a learner that saves every 10 steps: kill -9 after step " << steps
            << '\n';
  kill_and_wait(learner);
  std::cout << "  its next step is step " << learner.call<&Learner::step>() << '\n';
}

void show_giving_up() {
  std::cout << "more than 1 failure in 10 s, at two levels\n";
  fiber::Supervisor top({.intensity = 1});
  auto inner = top.supervisor({.intensity = 1});
  auto learner = inner.spawn<Learner>({.name = "learner"});
  int last = 0;
  while (!top.children().empty())
    try {
      auto pid = learner.call<&Learner::pid>();
      if (std::exchange(last, pid) == pid)
        continue; // Its end has not been noticed yet.
      ::kill(pid, SIGKILL);
      std::cout << "  kill -9 learner\n";
    } catch (const fiber::WorkerLost&) { // This call was under way.
    }
  try {
    learner.call<&Learner::step>();
  } catch (const fiber::WorkerLost& lost) {
    std::cout << "  " << lost.what() << "\n";
  }
}

} // namespace

int main(int argc, char** argv) {
  auto session = fiber::init(argc, argv); // In another process, this call never returns.
  show("one_for_one", fiber::Strategy::one_for_one);
  show("rest_for_one", fiber::Strategy::rest_for_one);
  show("one_for_all", fiber::Strategy::one_for_all);
  show_checkpoint();
  show_giving_up();
}
