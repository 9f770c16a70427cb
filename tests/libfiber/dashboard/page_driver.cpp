// SPDX-License-Identifier: Apache-2.0
// A program for the tests of the page. It says where its page is on stderr, as every
// program does, and obeys a word a line on stdin: fail, kill, grow, publish, tasks, take,
// publish-in-a-task, manage, ring, end-ring, end.
#include <fiber/fiber.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

int work(int n) {
  std::this_thread::sleep_for(5ms); // Simulated work.
  return n;
}

int print(int n) {
  std::printf("<b onmouseover=alert(1)>printed</b> by task %d\n", n);
  std::fflush(stdout);
  return n;
}

int fail(int n) {
  throw std::runtime_error("<script>document.title = 'hacked'</script>"
                           "<img src=x onerror=\"document.title='hacked'\"> of task " +
                           std::to_string(n) + " \x1b[31m");
}

int die_once(int n) {
  if (fiber::this_task::attempt() == 1)
    std::raise(SIGKILL);
  return n;
}

int take(fiber::Queue<int> queue, int) {
  return queue.get();
}

int publish(int n) {
  fiber::publish("of a task", 7);
  return n;
}

/// Goes on until `over` is set.
void turn(fiber::Event over, fiber::RingMember& member) {
  for (std::vector<int> stop(1); stop[0] == 0; member.broadcast(stop, 0))
    if (member.rank() == 0)
      stop[0] = over.wait(10ms) ? 1 : 0;
}

class Counter {
public:
  int add(int n) { return count_ += n; }

private:
  int count_ = 0;
};

/// What the words make beside the pool.
struct Others {
  std::optional<fiber::Manager> shelf;
  std::optional<fiber::List<int>> list;
  std::optional<fiber::Ref<Counter>> first, second;
  std::optional<fiber::Event> over;
  std::thread ring;

  void manage() {
    shelf.emplace(fiber::ManagerOptions{.name = "<u>shelf</u>"});
    list.emplace(shelf->list<int>());
    first.emplace(shelf->create<Counter>());
    second.emplace(shelf->create<Counter>());
    over.emplace(shelf->event());
    for (int i = 0; i < 3; ++i)
      first->call<&Counter::add>(1);
  }
  void start_ring() {
    ring = std::thread([this] { fiber::Ring(2, fiber::bind(turn, *over)).run(); });
  }
  void end_ring() {
    over->set();
    ring.join();
  }
};

} // namespace

int main(int argc, char** argv) {
  auto session = fiber::init(argc, argv);
  fiber::Pool pool(2);
  Others others;
  fiber::Supervisor supervisor;
  auto counter = supervisor.spawn<Counter>(fiber::SpawnOptions{.name = "<i>counter</i>"});
  fiber::Queue<int> queue(10);
  queue.put(1);
  pool.map(print, std::views::iota(0, 4));
  std::cout << "ready" << std::endl;
  for (std::string word; std::cin >> word && word != "end";) {
    if (word == "fail")
      try {
        pool.map(fail, std::views::iota(0, 3));
      } catch (const fiber::RemoteError&) { // As expected.
      }
    else if (word == "kill")
      pool.map(die_once, std::views::iota(0, 1));
    else if (word == "grow")
      pool.resize(4);
    else if (word == "publish")
      for (int i = 0; i < 1000; ++i)
        fiber::publish("return <u>", 0.5 * i);
    else if (word == "take")
      pool.map(fiber::bind(take, queue), std::views::iota(0, 1));
    else if (word == "publish-in-a-task")
      pool.map(publish, std::views::iota(0, 1));
    else if (word == "manage")
      others.manage();
    else if (word == "ring")
      others.start_ring();
    else if (word == "end-ring")
      others.end_ring();
    else if (word == "tasks")
      pool.map(work, std::views::iota(0, 300), {.chunksize = 1});
    std::cout << word << std::endl;
  }
}
