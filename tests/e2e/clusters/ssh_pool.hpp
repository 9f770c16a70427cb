// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <sys/types.h>

#include <fiber/fiber.hpp>

#include "tests/clusters/cluster.hpp"
#include "tests/e2e/support/fixture.hpp"

namespace fiber::e2e {

inline constexpr const char* all_hosts[] = {"fiber-a", "fiber-b", "fiber-c", "fiber-d"};

/// One test of pools whose workers are on the hosts. Checks at its end that no process is
/// left there.
class SshPool : public SessionTest {
protected:
  void SetUp() override {
    if (!clusters::ssh())
      GTEST_SKIP() << "SKIPPED: no hosts are up";
    std::filesystem::permissions(folder(), std::filesystem::perms::all); // For jobs.
    for (std::string name : all_hosts)
      clusters::ssh_host("share " + name + " " + folder().string());
  }
  void TearDown() override {
    if (!clusters::ssh())
      return;
    close();
    for (std::string name : all_hosts)
      EXPECT_TRUE(wait_until([&] { return processes(name).empty(); }))
        << "left on " << name << ":\n"
        << clusters::ssh_host("pids " + name);
    clusters::ssh_host("usual");
  }

  static Config config(const std::string& hosts) {
    Config config;
    config.backend = "ssh";
    config.environment = "E2E_FOLDER,E2E_MARK";
    config.heartbeat_timeout = std::chrono::seconds(2);
    config.lease = std::chrono::seconds(5);
    config.more = {{"ssh_hosts", hosts},
                   {"ssh_command", clusters::ssh()->at("SSH_COMMAND")}};
    return config;
  }
  /// Returns the processes of drivers on a host, as this machine numbers them.
  static std::vector<pid_t> processes(const std::string& name) {
    std::istringstream lines(clusters::ssh_host("pids " + name));
    std::vector<pid_t> pids;
    for (std::string line; std::getline(lines, line);)
      pids.push_back(std::stoi(line));
    return pids;
  }
};

} // namespace fiber::e2e
