// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/backends/docker/docker_fixture.hpp"
#include "tests/backends/job_script.hpp"
#include "tests/clusters/cluster.hpp"

int main(int argc, char** argv) {
  if (std::getenv("FIBER_TEST_CLOSE_STDIN") != nullptr)
    ::close(STDIN_FILENO); // As a program may do before fiber::init.
  if (auto entry = fiber::backends::enter_job())
    return fiber::backends::play(*entry, argc, argv);
  if (argc == 3 && std::string(argv[1]) == "--drive-inside")
    return fiber::backends::drive_inside(argv[2]);
  fiber::clusters::enter_network(fiber::backends::engine_cluster(), "DOCKER_NETNS");
  if (argc == 4 && std::string(argv[1]) == "--drive")
    return fiber::backends::drive(argv[2], argv[3]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
