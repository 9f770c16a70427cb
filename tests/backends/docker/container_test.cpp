// SPDX-License-Identifier: Apache-2.0
// The promise: a container learns from its environment what its job may use, unless the
// user or the image says otherwise.
#include "backends/docker/container.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "tests/backends/contract.hpp"

namespace fiber::backends::docker {
namespace {

class ContainerBody : public testing::Test {
protected:
  bool sets(const std::string& variable) const {
    auto body = container_body(spec_, place_, image_);
    auto& all = body["Env"];
    return std::count(all.begin(), all.end(), variable) == 1;
  }

  JobSpec spec_ = BackendTest::spec("one", "wait");
  Placement place_;
  Image image_;
};

TEST_F(ContainerBody, tells_libraries_what_the_job_may_use) {
  spec_.resources.cpu = 3;
  EXPECT_TRUE(sets("OMP_NUM_THREADS=3"));
  EXPECT_TRUE(sets("FIBER_CPUS=3"));
  EXPECT_TRUE(sets("CUDA_VISIBLE_DEVICES="));
  spec_.resources.gpu = 1;
  EXPECT_FALSE(sets("CUDA_VISIBLE_DEVICES="));
}

TEST_F(ContainerBody, keeps_what_the_user_and_the_image_set) {
  place_.environment = {{"OMP_NUM_THREADS", "7"}, {"CUDA_VISIBLE_DEVICES", "1"}};
  image_.variables = {"MKL_NUM_THREADS"};
  EXPECT_TRUE(sets("OMP_NUM_THREADS=7"));
  EXPECT_TRUE(sets("CUDA_VISIBLE_DEVICES=1"));
  EXPECT_TRUE(sets("OPENBLAS_NUM_THREADS=1"));
  EXPECT_FALSE(sets("MKL_NUM_THREADS=1"));
}

} // namespace
} // namespace fiber::backends::docker
