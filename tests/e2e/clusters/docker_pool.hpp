// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <fiber/fiber.hpp>

#include "tests/clusters/cluster.hpp"
#include "tests/clusters/docker_view.hpp"
#include "tests/e2e/support/fixture.hpp"

namespace fiber::e2e {

inline constexpr auto own_image = "localhost/fiber-test:docker_e2e_test";

/// One test of pools whose workers are containers. Checks at its end that none is left.
class DockerPool : public SessionTest {
protected:
  void SetUp() override {
    if (!clusters::docker())
      GTEST_SKIP() << "SKIPPED: no Docker engine is up";
    std::filesystem::permissions(folder(), std::filesystem::perms::all); // For jobs.
  }
  void TearDown() override {
    if (!clusters::docker())
      return;
    close();
    EXPECT_TRUE(wait_until([&] { return engine().containers().empty(); }))
      << engine().containers().size() << " containers are left";
    for (auto& id : engine().containers())
      engine().remove(id);
  }

  static std::string host() { return clusters::docker()->at("DOCKER_HOST"); }
  static int script(const std::string& command) {
    return clusters::run_script(clusters::docker(), command);
  }
  clusters::DockerView& engine() {
    if (!engine_)
      engine_ = std::make_unique<clusters::DockerView>(host());
    return *engine_;
  }
  /// Jobs can leave notes for the test.
  Config config() const {
    Config config;
    config.backend = "docker";
    config.docker_host = host();
    config.image = own_image;
    config.docker_volumes = folder() + ":" + folder();
    config.environment = "E2E_FOLDER,E2E_MARK";
    return config;
  }
  static std::string folder() { return std::getenv("E2E_FOLDER"); }
  /// As many as are running; waits for `n`.
  std::vector<std::string> await_containers(std::size_t n) {
    std::vector<std::string> ids;
    wait_until([&] { return (ids = engine().running()).size() == n; });
    EXPECT_EQ(ids.size(), n);
    return ids;
  }
  /// Starts this program as `drive WHAT`, its stderr in the file `output`.
  pid_t drive(const std::string& what, const std::string& output) {
    setenv("FIBER_BACKEND", "docker", 1);
    setenv("FIBER_DOCKER_HOST", host().c_str(), 1);
    setenv("FIBER_IMAGE", own_image, 1);
    setenv("FIBER_DOCKER_VOLUMES", (folder() + ":" + folder()).c_str(), 1);
    setenv("FIBER_ENVIRONMENT", "E2E_FOLDER,E2E_MARK", 1);
    auto pid = fork();
    if (pid == 0) {
      auto file = ::open(output.c_str(), O_RDWR | O_CREAT, 0600);
      dup2(file, STDERR_FILENO);
      execl("/proc/self/exe", "docker_e2e_test", "drive", what.c_str(), nullptr);
      _exit(127);
    }
    for (auto* name : {"FIBER_BACKEND", "FIBER_DOCKER_HOST", "FIBER_IMAGE",
                       "FIBER_DOCKER_VOLUMES", "FIBER_ENVIRONMENT"})
      unsetenv(name);
    return pid;
  }

private:
  std::unique_ptr<clusters::DockerView> engine_;
};

} // namespace fiber::e2e
