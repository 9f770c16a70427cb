// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "backends/registry.hpp"
#include "tests/backends/contract.hpp"
#include "tests/clusters/cluster.hpp"

namespace fiber::backends {

/// Options for jobs of this program on these hosts of the cluster: "fiber-a:2,fiber-b".
BackendOptions ssh_options(const std::string& hosts);
/// Makes the backend `ssh`. Throws what that throws.
std::unique_ptr<Backend> make_ssh_backend(const BackendOptions& options);
/// Traits for the contract suite, on three hosts that have no file of this machine.
BackendTraits ssh_traits();

/// Waits until `condition` holds, for as long as a lease of ssh_options() and much more,
/// but not as long as the usual lease.
bool soon(const std::function<bool()>& condition);

/// Checks at the end that no process, and no file but copies of programs, is left on any
/// host, and no ssh here.
class SshTest : public testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  /// Runs tests/clusters/ssh/host with these words, and returns what it prints.
  static std::string host(const std::string& words) { return clusters::ssh_host(words); }
  /// Returns the processes of drivers on a host, as this machine numbers them.
  static std::vector<int> processes(const std::string& name);
  /// Returns the agent of a host; 0 if there is none.
  static int agent(const std::string& name);
  /// Returns the files in the user's home on a host, without copies of programs that are
  /// complete.
  static std::vector<std::string> files(const std::string& name);
  /// Returns the processes of this machine that run ssh for these tests.
  static std::vector<int> clients();
  /// Starts a job where it can't be started. Returns the error, from wherever it comes.
  static std::string problem_of(const BackendOptions& options);
};

/// The driver of `ssh_test --drive HOSTS`: creates four jobs and waits to be killed.
int drive(const std::string& hosts);

} // namespace fiber::backends
