// SPDX-License-Identifier: Apache-2.0
// The promise: the kernel's kills in this process's own control group are counted.

#include "backends/container/control_group.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace fiber::backends {
namespace {

class ControlGroupTest : public testing::Test {
protected:
  ~ControlGroupTest() override { std::filesystem::remove_all(root_); }
  void file(const std::string& path, const std::string& text) {
    auto where = std::filesystem::path(root_ + path);
    std::filesystem::create_directories(where.parent_path());
    std::ofstream(where) << text;
  }
  std::vector<std::string> folders(const std::string& controller) {
    auto folders = control_groups(controller, root_);
    for (auto& folder : folders)
      folder.erase(0, root_.size());
    return folders;
  }
  std::string root_ = testing::TempDir() + "fiber_group." + std::to_string(getpid());
};

using Folders = std::vector<std::string>;

TEST_F(ControlGroupTest, groups_are_searched_in_each_hierarchy_up_to_the_top) {
  EXPECT_EQ(folders("cpu"), Folders());
  file("/proc/self/cgroup", "5:memory:/\n4:cpu,cpuacct:/job\n1:name=systemd:/x\n"
                            "no group\n0::/slurm/job_7\n");
  EXPECT_EQ(folders("cpu"), (Folders{"/sys/fs/cgroup/cpu/job", "/sys/fs/cgroup/cpu",
                                     "/sys/fs/cgroup/slurm/job_7", "/sys/fs/cgroup/slurm",
                                     "/sys/fs/cgroup"}));
  EXPECT_EQ(folders("memory").front(), "/sys/fs/cgroup/memory");
}

TEST_F(ControlGroupTest, a_group_without_memory_controller_has_no_kill_count) {
  EXPECT_FALSE(out_of_memory_kills(root_));
  file("/proc/self/cgroup", "0::/job\n");
  EXPECT_FALSE(out_of_memory_kills(root_));
}

TEST_F(ControlGroupTest, kills_are_counted) {
  file("/proc/self/cgroup", "0::/slurm/job_7\n");
  file("/sys/fs/cgroup/slurm/memory.events", "oom 9\noom_kill 8\n");
  file("/sys/fs/cgroup/slurm/job_7/cgroup.procs", "");
  EXPECT_FALSE(out_of_memory_kills(root_)); // Kills in other groups do not count.
  file("/sys/fs/cgroup/slurm/job_7/memory.events", "low 0\noom 3\noom_kill 2\n");
  EXPECT_EQ(out_of_memory_kills(root_), 2U);
}

TEST_F(ControlGroupTest, kills_of_version_1_in_a_container_are_counted) {
  file("/proc/self/cgroup", "5:memory:/docker/of_the_host\n");
  file("/sys/fs/cgroup/memory/memory.oom_control",
       "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
  EXPECT_EQ(out_of_memory_kills(root_), 5U);
}

} // namespace
} // namespace fiber::backends
