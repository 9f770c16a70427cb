// SPDX-License-Identifier: Apache-2.0
// The promise: libraries in a job start as many threads as the job has cores, unless the
// user says otherwise, and see no GPU that the job was not given.
#include "backends/resource_variables.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace fiber::backends {
namespace {

constexpr const char* of_threads[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                      "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"};
constexpr const char* of_gpus[] = {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                   "ROCR_VISIBLE_DEVICES"};

class ResourceVariable : public testing::Test {
protected:
  ResourceVariable() { clear(); }
  ~ResourceVariable() override { clear(); }

  static void clear() {
    for (auto* name : of_threads)
      ::unsetenv(name);
    ::unsetenv(cpus_variable);
  }
};

TEST_F(ResourceVariable, gives_as_many_threads_as_the_job_has_cores_and_at_least_one) {
  for (auto& [cpu, threads] :
       {std::pair(0.01, "1"), {1.0, "1"}, {2.5, "3"}, {8.0, "8"}}) {
    auto variables = ResourceVariables(true).of({.cpu = cpu});
    for (auto* name : of_threads)
      EXPECT_EQ(variables[name], threads) << name << " for " << cpu;
    EXPECT_EQ(variables[cpus_variable], threads);
  }
}

TEST_F(ResourceVariable, of_the_user_is_kept) {
  ::setenv("OMP_NUM_THREADS", "3,2", 1);
  auto variables = ResourceVariables(true).of({.cpu = 8});
  EXPECT_EQ(variables["OMP_NUM_THREADS"], "3,2");
  EXPECT_EQ(variables["MKL_NUM_THREADS"], "8");
  EXPECT_EQ(variables[cpus_variable], "8");
}

TEST_F(ResourceVariable, of_a_job_is_not_taken_for_the_users_by_the_jobs_of_that_job) {
  ::setenv(cpus_variable, "8", 1);
  ::setenv("OMP_NUM_THREADS", "8", 1);
  ::setenv("MKL_NUM_THREADS", "5", 1);
  auto variables = ResourceVariables(true).of({.cpu = 2});
  EXPECT_EQ(variables["OMP_NUM_THREADS"], "2");
  EXPECT_EQ(variables["MKL_NUM_THREADS"], "5");
}

TEST_F(ResourceVariable, hides_gpus_from_jobs_that_asked_for_none_unless_told_not_to) {
  auto hidden = ResourceVariables(true).of({});
  for (auto* name : of_gpus) {
    ASSERT_TRUE(hidden.contains(name)) << name;
    EXPECT_EQ(hidden[name], "");
    EXPECT_FALSE(ResourceVariables(true).of({.gpu = 1}).contains(name)) << name;
    EXPECT_FALSE(ResourceVariables(false).of({}).contains(name)) << name;
  }
}

} // namespace
} // namespace fiber::backends
