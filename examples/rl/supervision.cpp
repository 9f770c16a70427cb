// SPDX-License-Identifier: Apache-2.0
// A tour of supervision in five minutes: three actors in processes of their own, one
// killed, and the tree before and after, for each strategy; then a learner that goes on
// from its checkpoint, and a supervisor that gives up.
#include <chrono>
#include <csignal>
#include <cstddef>
#include <fiber/fiber.hpp>
#include <iostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

namespace {

/// Counts steps; what it had saved it has again after a restart.
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

/// Which processes the children have lived in.
class Tree {
public:
  explicit Tree(fiber::SupervisorOptions options) : supervisor_(options) {}

  fiber::Ref<Learner> spawn(const std::string& name) {
    children_.push_back(supervisor_.spawn<Learner>({.name = name}));
    return children_.back();
  }

  /// A line for each child: how often it was started again, and whether since last time.
  void print(const std::string& title) {
    std::cout << "  " << title << ":";
    auto infos = supervisor_.children();
    pids_.resize(children_.size());
    for (std::size_t i = 0; i < infos.size(); ++i) {
      auto pid = children_[i].call<&Learner::pid>();
      std::cout << "  " << infos[i].name << (infos[i].alive ? " up" : " down");
      if (pids_[i] != 0)
        std::cout << (pids_[i] == pid ? ", the same" : ", a new one");
      pids_[i] = pid;
    }
    std::cout << "\n";
  }

  /// Kills a child's process, and waits until all are there again.
  void kill(std::size_t which) {
    auto restarts = supervisor_.children().at(which).restarts;
    ::kill(pids_.at(which), SIGKILL);
    auto again = [&] {
      auto infos = supervisor_.children();
      for (auto& info : infos)
        if (!info.alive)
          return false;
      return infos.at(which).restarts > restarts;
    };
    while (!again())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::cout << "  kill -9 " << supervisor_.children()[which].name << "\n";
  }

private:
  fiber::Supervisor supervisor_;
  std::vector<fiber::Ref<Learner>> children_;
  std::vector<int> pids_;
};

void show(const std::string& name, fiber::Strategy strategy) {
  std::cout << name << "\n";
  Tree tree({.strategy = strategy});
  for (auto* child : {"replay", "learner", "actor"})
    tree.spawn(child);
  tree.print("before");
  tree.kill(1);
  tree.print("after");
}

void show_checkpoint() {
  std::cout << "a learner saves every 10 steps\n";
  Tree tree({});
  auto learner = tree.spawn("learner");
  tree.print("before");
  int steps = 0;
  for (int i = 0; i < 25; ++i)
    steps = learner.call<&Learner::step>();
  std::cout << "  after " << steps << " steps:\n";
  tree.kill(0);
  std::cout << "  the next one is step " << learner.call<&Learner::step>() << "\n";
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
