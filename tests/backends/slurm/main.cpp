// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/backends/job_script.hpp"
#include "tests/backends/slurm/slurm_fixture.hpp"

int main(int argc, char** argv) {
  if (auto entry = fiber::backends::enter_job())
    return fiber::backends::play(*entry, argc, argv);
  if (auto cluster = fiber::clusters::slurm())
    ::setenv("SLURM_CONF", cluster->at("SLURM_CONF").c_str(), 1);
  if (argc == 3 && std::string(argv[1]) == "--drive")
    return fiber::backends::drive(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
