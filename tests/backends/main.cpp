// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/backends/job_script.hpp"

int main(int argc, char** argv) {
  if (auto entry = fiber::backends::enter_job())
    return fiber::backends::play(*entry, argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
