// SPDX-License-Identifier: Apache-2.0
// The promise: the tightest limit of all the groups of a process counts.

#include "libfiber/session/cpu_quota.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/locale/comma_locale.hpp"

namespace fiber {
namespace {

class CpuQuotaTest : public testing::Test {
protected:
  ~CpuQuotaTest() override { std::filesystem::remove_all(root_); }
  void file(const std::string& path, const std::string& text) {
    auto where = std::filesystem::path(root_ + path);
    std::filesystem::create_directories(where.parent_path());
    std::ofstream(where) << text;
  }
  std::string root_ = testing::TempDir() + "fiber_quota." + std::to_string(getpid());
};

TEST_F(CpuQuotaTest, without_a_limit_the_quota_is_zero) {
  EXPECT_EQ(cpu_quota(root_), 0);
  file("/proc/self/cgroup", "0::/user.slice\n");
  file("/sys/fs/cgroup/user.slice/cpu.max", "max 100000\n");
  EXPECT_EQ(cpu_quota(root_), 0);
}

TEST_F(CpuQuotaTest, the_least_limit_up_to_the_top_counts) {
  file("/proc/self/cgroup", "0::/slurm/job_7/step_0\n");
  file("/sys/fs/cgroup/slurm/job_7/step_0/cpu.max", "800000 100000\n");
  EXPECT_EQ(cpu_quota(root_), 8);
  file("/sys/fs/cgroup/slurm/job_7/cpu.max", "150000 100000\n");
  file("/sys/fs/cgroup/slurm/cpu.max", "max 100000\n");
  EXPECT_EQ(cpu_quota(root_), 1.5);
}

TEST_F(CpuQuotaTest, is_the_same_in_a_locale_with_a_decimal_comma) {
  file("/proc/self/cgroup", "0::/job\n");
  file("/sys/fs/cgroup/job/cpu.max", "150000 100000\n");
  const test::CommaLocale locale;
  EXPECT_EQ(cpu_quota(root_), 1.5);
}

TEST_F(CpuQuotaTest,
       a_container_that_sees_the_names_of_the_host_has_the_limit_at_its_top) {
  file("/proc/self/cgroup", "0::/system.slice/docker-1.scope\n");
  file("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(cpu_quota(root_), 2);
}

TEST_F(CpuQuotaTest, version_1_is_read_too) {
  file("/proc/self/cgroup", "5:memory:/job\n4:cpu,cpuacct:/job\n");
  file("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "300000\n");
  file("/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpu_quota(root_), 3);
}

} // namespace
} // namespace fiber
