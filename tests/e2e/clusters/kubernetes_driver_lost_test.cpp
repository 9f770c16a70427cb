// SPDX-License-Identifier: Apache-2.0
// However a driver goes, outside of the cluster or in a pod: nothing that it made stays.
#include <csignal>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include <unistd.h>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/clusters/kubernetes_cluster.hpp"
#include "tests/e2e/support/notes.hpp"
#include "tests/examples/program.hpp"

namespace fiber::e2e {

using namespace std::chrono_literals;

namespace {

std::size_t for_good(std::size_t i) {
  for (;;)
    std::this_thread::sleep_for(1h);
  return i;
}

} // namespace

/// "hold": says "holding" when two workers are at tasks that do not end.
/// "work": says "good" if a map was right.
int drive(const std::string& program) {
  Pool pool(PoolOptions{.workers = 2, .resources = {.cpu = 0.05}});
  if (program == "hold") {
    auto tasks = pool.map_async(for_good, indices(2));
    if (!pool.wait_until_workers_up(60s))
      return 1;
    std::cout << "holding" << std::endl;
    tasks.get();
  }
  auto good = pool.map(f, indices(400)) == undisturbed(400);
  std::cout << (good ? "good" : "bad") << std::endl;
  return good ? 0 : 1;
}

namespace {

class KubernetesDriver : public KubernetesTest {
protected:
  std::unique_ptr<Program> start(const std::string& program) {
    std::vector<std::string> command{"/usr/bin/env", "FIBER_LEASE=10s",
                                     "FIBER_HEARTBEAT_TIMEOUT=2s"};
    auto more = settings();
    command.insert(command.end(), more.begin(), more.end());
    command.insert(command.end(),
                   {"/proc/" + std::to_string(getpid()) + "/exe", drive_word, program});
    return std::make_unique<Program>(command);
  }

  static bool says(Program& program, const std::string& word) {
    while (auto line = program.line()) {
      if (*line == word)
        return true;
      std::cerr << *line << "\n";
    }
    return false;
  }

  /// The service account "fiber" with the role of deploy/kubernetes/rbac.yaml, and the
  /// network policies.
  void allow() const {
    kubectl("apply -f " DEPLOY_FOLDER "/rbac.yaml");
    kubectl("apply -f " DEPLOY_FOLDER "/network-policy.yaml");
  }

  /// The example of deploy/kubernetes/driver.yaml, running a program of this test.
  void start_pod(const std::string& program) const {
    std::ifstream example(DEPLOY_FOLDER "/driver.yaml");
    std::ostringstream text;
    text << example.rdbuf();
    auto yaml = text.str();
    const std::string name = "image: IMAGE";
    auto image = yaml.find(name);
    ASSERT_NE(image, yaml.npos);
    yaml.replace(image, name.size(), std::string("image: ") + test_image);
    yaml += "      args: [" + std::string(drive_word) + ", " + program +
            "]\n      resources: {requests: {cpu: 50m}}\n";
    apply(yaml);
  }
  std::string pod_log() const {
    return run(cluster("K8S_KUBECTL") + " -n " + name_space() + " logs fiber-driver")
      .output;
  }
};

TEST_F(KubernetesDriver, that_is_killed_leaves_nothing) {
  auto driver = start("hold");
  ASSERT_TRUE(says(*driver, "holding"));
  EXPECT_EQ(workers().size(), 2u);
  driver->kill(SIGKILL);
  EXPECT_EQ(driver->wait(), -SIGKILL);
  EXPECT_TRUE(nothing_left()) << left();
}

/// This host, as seen from the cluster.
class HostOutOfReach {
public:
  explicit HostOutOfReach(const std::string& network)
    : inside_("ip netns exec " + network) {
    rule("-A");
  }
  HostOutOfReach(const HostOutOfReach&) = delete;
  HostOutOfReach& operator=(const HostOutOfReach&) = delete;
  ~HostOutOfReach() { rule("-D"); }

  /// Before commands that still reach the cluster.
  const std::string& inside() const { return inside_; }

private:
  void rule(const std::string& what) const {
    for (auto* way : {" PREROUTING -i host -j DROP", " POSTROUTING -o host -j DROP"}) {
      auto ran = run(inside_ + " iptables -w -t mangle " + what + way);
      EXPECT_EQ(ran.code, 0) << ran.output;
    }
  }

  std::string inside_;
};

/// No connection is closed: only the lease can tell.
TEST_F(KubernetesDriver, whose_machine_is_gone_leaves_nothing) {
  auto driver = start("hold");
  ASSERT_TRUE(says(*driver, "holding"));
  EXPECT_EQ(workers().size(), 2u);
  HostOutOfReach cut(cluster("K8S_NETNS"));
  driver->kill(SIGKILL);
  EXPECT_EQ(driver->wait(), -SIGKILL);
  EXPECT_NE(left(cut.inside()).find("Secret/fiber-"), std::string::npos);
  EXPECT_TRUE(nothing_left(cut.inside())) << left(cut.inside());
}

TEST_F(KubernetesDriver, in_a_pod_chooses_kubernetes_and_works) {
  allow();
  start_pod("work");
  EXPECT_TRUE(await([&] {
    return kubectl("get pod fiber-driver -o jsonpath={.status.phase}") == "Succeeded";
  }))
    << pod_log();
  EXPECT_NE(pod_log().find("good"), std::string::npos) << pod_log();
  EXPECT_EQ(pod_log().find("warn"), std::string::npos) << pod_log();
  EXPECT_TRUE(nothing_left()) << left();
}

TEST_F(KubernetesDriver, in_a_pod_that_is_deleted_leaves_nothing) {
  allow();
  start_pod("hold");
  ASSERT_TRUE(await([&] { return pod_log().find("holding") != std::string::npos; }))
    << pod_log();
  EXPECT_EQ(workers().size(), 2u);
  expect_restricted(); // The driver, the anchor and the workers.
  kubectl("delete pod --wait=false --grace-period=0 --force fiber-driver");
  EXPECT_TRUE(nothing_left()) << left();
}

} // namespace
} // namespace fiber::e2e
