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

/// The engine of the tests, and jobs of this program in it.
DockerOptions docker_options();

/// Checks at the end that no container is left.
class DockerTest : public testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  /// Beside the backend under test.
  clusters::DockerView& engine();
  /// The only container there is; waits for it.
  std::string only_container();
  /// The last event of a job that can't be started.
  static JobEvent failure_of(BackendTest& test, JobSpec spec);

private:
  std::unique_ptr<clusters::DockerView> engine_;
};

/// What this program does as `docker_test --drive HOST LEASE`: makes one job on the
/// engine and waits to be killed.
int drive(const std::string& host, const std::string& lease_seconds);

} // namespace fiber::backends
