// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/slurm/slurm_backend.hpp"
#include "tests/backends/contract.hpp"
#include "tests/clusters/cluster.hpp"

namespace fiber::backends {

/// Options for jobs of this program on the cluster of the tests.
SlurmOptions slurm_options();
/// Traits for the contract suite.
BackendTraits slurm_traits();

/// Checks at the end that no job and no session's folder is left.
class SlurmTest : public testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  /// Returns "ID_INDEX STATE" of each job that has not ended, of all sessions.
  static std::vector<std::string> jobs();
  /// Returns the only job's "ID_INDEX", once it runs.
  static std::string only_running();
  /// Returns the folders of sessions.
  static std::vector<std::string> folders();
  /// Runs a script of the cluster and returns its exit code.
  static int script(const std::string& command);
  /// Returns the last event of a job that cannot be started.
  static JobEvent failure_of(const SlurmOptions& options, JobSpec spec);
};

/// The driver of `slurm_test --drive PARTITION`: creates three jobs and waits to be
/// killed.
int drive(const std::string& partition);

} // namespace fiber::backends
