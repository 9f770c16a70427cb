// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "tests/backends/job_script.hpp"
#include "tests/backends/kubernetes/killed_driver.hpp"

int main(int argc, char** argv) {
  if (auto entry = fiber::backends::enter_job())
    return fiber::backends::play(*entry, argc, argv);
  if (argc == 3 && std::string(argv[1]) == "--drive")
    return fiber::backends::kubernetes::drive(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
