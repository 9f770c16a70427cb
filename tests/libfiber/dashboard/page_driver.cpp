// SPDX-License-Identifier: Apache-2.0
// A program for the tests of the page. It says where its page is on stderr, as every
// program does, and obeys a word a line on stdin: fail, kill, grow, publish, tasks, end.
#include <fiber/fiber.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <ranges>
#include <stdexcept>
#include <string>
#include <thread>

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

class Counter {
public:
  int add(int n) { return count_ += n; }

private:
  int count_ = 0;
};

} // namespace

int main(int argc, char** argv) {
  auto session = fiber::init(argc, argv);
  fiber::Pool pool(2);
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
    else if (word == "tasks")
      pool.map(work, std::views::iota(0, 300), {.chunksize = 1});
    std::cout << word << std::endl;
  }
}
