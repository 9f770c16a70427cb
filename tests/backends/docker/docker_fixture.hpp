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

/// "docker" or "podman": docker_test.cpp and podman_test.cpp each say theirs.
extern const char* const engine_name;

/// The engine of the tests.
clusters::Cluster engine_cluster();
/// That engine, and jobs of this program in it.
DockerOptions docker_options();
/// For the contract.
BackendTraits engine_traits();

/// Checks at the end that no container is left.
class DockerTest : public testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  /// Beside the backend under test.
  clusters::DockerView& engine();
  /// Runs one of the engine's scripts; its exit code.
  static int script(const std::string& command) {
    return clusters::run_script(engine_cluster(), command);
  }
  /// The only container there is; waits for it.
  std::string only_container();
  /// The last event of a job that can't be started.
  static JobEvent failure_of(BackendTest& test, JobSpec spec);

private:
  std::unique_ptr<clusters::DockerView> engine_;
};

/// What this program does as `podman_test --drive HOST LEASE`: makes one job on the
/// engine and waits to be killed.
int drive(const std::string& host, const std::string& lease_seconds);

} // namespace fiber::backends
