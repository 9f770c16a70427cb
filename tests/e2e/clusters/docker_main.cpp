// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include <unistd.h>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/clusters/cluster.hpp"
#include "tests/e2e/clusters/docker_drive.hpp"
#include "tests/e2e/support/notes.hpp"

namespace fiber::e2e {
namespace {

/// What tells one container from another: each has its own temporary folder.
std::string mark_of_container() {
  constexpr auto path = "/tmp/mark";
  std::string mark;
  if (std::ifstream file(path); file >> mark)
    return mark;
  mark = std::to_string(std::chrono::steady_clock::now().time_since_epoch().count());
  std::ofstream(path) << mark << std::flush;
  return mark;
}

/// Each task waits for the other, so they are in two jobs.
std::string meet(std::vector<SimpleQueue<std::size_t>> queues, std::size_t i) {
  queues[1 - i].put(i);
  queues[i].get();
  return mark_of_container();
}

int map() {
  Pool pool(2);
  if (!pool.wait_until_workers_up(std::chrono::minutes(1)))
    return 3;
  std::vector<SimpleQueue<std::size_t>> queues(2);
  auto marks = pool.map(fiber::bind(meet, queues), indices(2), {.chunksize = 1});
  std::cout << "mapped in " << std::set<std::string>(marks.begin(), marks.end()).size()
            << " jobs" << std::endl;
  return 0;
}

int hold() {
  Pool pool(3);
  pool.map(
    [](std::size_t i) {
      note_and_wait("holding");
      return i;
    },
    indices(3));
  return 0;
}

int talk() {
  Pool pool(2);
  pool.map(
    [](std::size_t i) { std::cout << "talking about " << i << "\n"
                                  << std::flush; },
    indices(20));
  return 0;
}

int flood() {
  Pool pool(2);
  pool.map(
    [](std::size_t) {
      std::string line(1023, 'x');
      for (std::size_t piece = 0; piece < flood_pieces; ++piece) {
        for (int i = 0; i < 1024; ++i)
          std::cout << line << "\n";
        std::cout << std::flush;
        note("flooded", "");
      }
    },
    indices(2), {.chunksize = 1});
  return 0;
}

} // namespace

int drive(const std::string& what) {
  return what == "map"     ? map()
         : what == "hold"  ? hold()
         : what == "talk"  ? talk()
         : what == "flood" ? flood()
                           : 2;
}

} // namespace fiber::e2e

// Jobs run this program too: fiber::init turns them into nodes before anything else.
int main(int argc, char** argv) {
  bool driver = argc == 3 && std::string(argv[1]) == "drive";
  if (!driver && std::getenv("FIBER_NODE") == nullptr)
    fiber::clusters::enter_network(fiber::clusters::docker(), "DOCKER_NETNS");
  if (auto session = fiber::init(argc, argv); driver)
    return fiber::e2e::drive(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
