// SPDX-License-Identifier: Apache-2.0
// The promise: a job that asks for GPUs gets devices that this process has, by names that
// mean the same device to each library, and none that another job has.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backends/backend.hpp"
#include "backends/local/gpu_table.hpp"

namespace fiber::backends::local {
namespace {

using Names = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

/// A machine made of files: /dev, /proc and /sys below a folder.
class Machine : public testing::Test {
protected:
  Machine() {
    clear();
    std::string folder = testing::TempDir() + "fiber_gpus_XXXXXX";
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    root_ = folder;
    std::filesystem::create_directories(root_ / "dev/dri");
    for (auto* name : {"nvidiactl", "nvidia-uvm", "nvidia-modeset", "null"})
      device(name);
  }
  ~Machine() override {
    clear();
    std::filesystem::remove_all(root_);
  }

  static void clear() {
    for (auto* name : {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
                       "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"})
      ::unsetenv(name);
  }
  void device(const std::string& name) const { std::ofstream(root_ / "dev" / name); }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  /// Adds a device of NVIDIA as /proc lists it.
  void nvidia(const std::string& bus, int minor, const std::string& uuid) const {
    write("proc/driver/nvidia/gpus/" + bus + "/information",
          "Model: \t\t NVIDIA A100-SXM4-40GB\nIRQ:   \t\t 211\nGPU UUID: \t " + uuid +
            "\nVideo BIOS: \t 92.00.19.00.10\nBus Location: \t " + bus +
            "\nDevice Minor: \t " + std::to_string(minor) + "\nGPU Excluded:\t No\n");
  }
  /// Adds a node of AMD's kernel driver.
  void amd(int node, int cores, int minor) const {
    write("sys/class/kfd/kfd/topology/nodes/" + std::to_string(node) + "/properties",
          "cpu_cores_count 0\nsimd_count " + std::to_string(cores) +
            "\nsimd_id_base 0\ndrm_render_minor " + std::to_string(minor) + "\n");
  }
  Gpus found() const { return Gpus::here(root_); }

  std::filesystem::path root_;
};

TEST_F(Machine, without_gpus_has_none) {
  EXPECT_EQ(found().names, Names{});
}

TEST_F(Machine, has_the_devices_behind_a_gap) {
  device("nvidia3");
  device("nvidia5");
  EXPECT_EQ(found().variable, "CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(found().names, (Names{"0", "1"})) << "CUDA counts those that are there";
  EXPECT_EQ(found().more, (Variables{{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}}));
}

TEST_F(Machine, names_devices_by_uuid_whatever_their_minor_numbers_are) {
  nvidia("0000:3b:00.0", 1, "GPU-b");
  nvidia("0000:18:00.0", 2, "GPU-a");
  nvidia("0000:af:00.0", 0, "GPU-c");
  for (auto* name : {"nvidia0", "nvidia1", "nvidia2"})
    device(name);
  EXPECT_EQ(found().names, (Names{"GPU-a", "GPU-b", "GPU-c"}));
  EXPECT_EQ(found().more, Variables{});
}

TEST_F(Machine, of_a_container_has_only_the_devices_that_the_container_was_given) {
  nvidia("0000:18:00.0", 0, "GPU-a");
  nvidia("0000:3b:00.0", 1, "GPU-b");
  nvidia("0000:af:00.0", 2, "GPU-c");
  device("nvidia1");
  EXPECT_EQ(found().names, Names{"GPU-b"});
}

TEST_F(Machine, counts_in_the_order_of_the_bus_if_a_uuid_is_not_known) {
  nvidia("0000:18:00.0", 0, "GPU-" + std::string(8, '?')); // As /proc says it.
  nvidia("0000:3b:00.0", 7, "GPU-b");
  device("nvidia0");
  device("nvidia7");
  EXPECT_EQ(found().names, (Names{"0", "1"}));
  EXPECT_EQ(found().more["CUDA_DEVICE_ORDER"], "PCI_BUS_ID");
}

TEST_F(Machine, has_what_the_drivers_own_variable_names_and_no_more) {
  device("nvidia0");
  device("nvidia1");
  ::setenv("CUDA_VISIBLE_DEVICES", "MIG-11,MIG-12,GPU-7", 1);
  EXPECT_EQ(found().names, (Names{"MIG-11", "MIG-12", "GPU-7"}));
  ::setenv("CUDA_VISIBLE_DEVICES", "1,-1,0", 1);
  ::setenv("CUDA_DEVICE_ORDER", "FASTEST_FIRST", 1);
  EXPECT_EQ(found().names, Names{"1"}) << "CUDA ignores what follows";
  EXPECT_EQ(found().more["CUDA_DEVICE_ORDER"], "FASTEST_FIRST");
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  EXPECT_EQ(found().names, Names{});
}

TEST_F(Machine, has_devices_of_amd) {
  amd(0, 0, 0); // The processor.
  amd(2, 304, 129);
  amd(1, 304, 128);
  amd(10, 304, 136); // Not in this container.
  device("dri/renderD128");
  device("dri/renderD129");
  EXPECT_EQ(found().variable, "ROCR_VISIBLE_DEVICES");
  EXPECT_EQ(found().names, (Names{"0", "1"}));
  ::setenv("HIP_VISIBLE_DEVICES", "1", 1);
  EXPECT_EQ(found().variable, "HIP_VISIBLE_DEVICES");
  EXPECT_EQ(found().names, Names{"1"});
}

TEST_F(Machine, shares_a_device_among_jobs_only_on_request) {
  Gpus two{.names = {"0", "1"}};
  auto of = [](const Variables& variables) {
    return variables.at("CUDA_VISIBLE_DEVICES");
  };
  GpuTable alone(two);
  EXPECT_EQ(of(alone.take(1, 1)), "0");
  EXPECT_EQ(of(alone.take(2, 1)), "1");
  EXPECT_THROW(alone.take(3, 1), EngineError);
  alone.give_back(1);
  EXPECT_EQ(of(alone.take(4, 1)), "0");

  GpuTable shared(two, 2);
  EXPECT_EQ(of(shared.take(1, 1)), "0");
  EXPECT_EQ(of(shared.take(2, 1)), "1") << "the one with fewer jobs";
  EXPECT_EQ(of(shared.take(3, 2)), "0,1") << "different devices";
  EXPECT_THROW(shared.take(4, 1), EngineError);
  shared.give_back(2);
  EXPECT_EQ(of(shared.take(5, 1)), "1");
}

} // namespace
} // namespace fiber::backends::local
