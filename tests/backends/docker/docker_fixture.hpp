// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "backends/docker/docker_backend.hpp"
#include "tests/backends/contract.hpp"
#include "tests/clusters/cluster.hpp"
#include "tests/clusters/docker_view.hpp"

namespace fiber::backends {

/// "docker" or "podman"; defined in docker_test.cpp and podman_test.cpp.
extern const char* const engine_name;

/// The engine of the tests.
clusters::Cluster engine_cluster();
/// Options for jobs of this program on that engine.
DockerOptions docker_options();
/// Traits for the contract suite.
BackendTraits engine_traits();

/// Checks at the end that no container is left.
class DockerTest : public testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  /// A connection besides that of the backend under test.
  clusters::DockerView& engine();
  /// Runs one of the engine's scripts and returns its exit code.
  static int script(const std::string& command) {
    return clusters::run_script(engine_cluster(), command);
  }
  /// Waits for the only container and returns it.
  std::string only_container();
  /// Returns the last event of a job that cannot be started.
  static JobEvent failure_of(BackendTest& test, JobSpec spec);

private:
  std::unique_ptr<clusters::DockerView> engine_;
};

/// The driver of `podman_test --drive HOST LEASE`: creates a job on the engine and waits
/// to be killed.
int drive(const std::string& host, const std::string& lease_seconds);

/// The driver of `docker_test --drive-inside HOST`, in a container of the engine: creates
/// a job that inherits all volumes that it may, and waits to be killed.
int drive_inside(const std::string& host);

} // namespace fiber::backends
