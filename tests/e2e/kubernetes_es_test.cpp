// SPDX-License-Identifier: Apache-2.0
// The demo's promise holds on Kubernetes: the same seed gives the same policy, byte for
// byte, though a pod is deleted and a node drained meanwhile.
#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "tests/e2e/kubernetes_cluster.hpp"
#include "tests/examples/program.hpp"

namespace fiber::e2e {
namespace {

constexpr int iterations = 300;

class KubernetesEs : public KubernetesTest {
protected:
  /// A run that does not solve its task, so that it goes on to the last iteration.
  std::unique_ptr<Program> start(const std::string& out,
                                 const std::vector<std::string>& settings) const {
    std::vector<std::string> command{"/usr/bin/env", "FIBER_START_DEADLINE=120s"};
    command.insert(command.end(), settings.begin(), settings.end());
    command.insert(command.end(),
                   {ES_TRAIN, "--env", "cartpole", "--iterations",
                    std::to_string(iterations), "--directions", "100", "--episodes", "32",
                    "--learning-rate", "0.0001", "--seed", "5", "--workers", "2", "--out",
                    folder() + "/" + out});
    return std::make_unique<Program>(command);
  }

  std::string policy(const std::string& out) const {
    std::ifstream file(folder() + "/" + out + "/policy.txt", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

/// " 20/300  mean ...": 20; 0 for any other line.
int iteration_in(const std::string& line) {
  int number = 0;
  char slash = 0;
  std::istringstream(line) >> number >> slash;
  return slash == '/' ? number : 0;
}

TEST_F(KubernetesEs, ends_the_same_though_a_pod_is_deleted_and_a_node_drained) {
  auto local = start("local", {"FIBER_BACKEND=local"});
  auto told = local->rest();
  ASSERT_EQ(local->wait(), 1) << told;
  ASSERT_FALSE(policy("local").empty()) << told;

  auto program = start("kubernetes", settings("localhost/fiber-test:es_train"));
  std::string output;
  std::atomic<int> iteration = 0;
  std::jthread reader([&] {
    while (auto line = program->line()) {
      output += *line + "\n";
      iteration = std::max(iteration.load(), iteration_in(*line));
    }
  });
  EXPECT_TRUE(await([&] { return iteration > 10; }));
  ASSERT_TRUE(await_running(2));
  kubectl("delete pod --wait=false " + workers().front().name);
  auto at_delete = iteration.load();
  EXPECT_TRUE(await([&] { return iteration > at_delete + 10; }));
  ASSERT_TRUE(await_running(2));
  std::string node;
  for (auto& pod : workers())
    if (pod.phase == "Running")
      node = pod.node;
  AtEnd uncordon(cluster("K8S_KUBECTL") + " uncordon " + node);
  EXPECT_LT(iteration, iterations - 10);
  kubectl("drain --force --ignore-daemonsets --timeout=90s " + node);
  reader.join();
  EXPECT_EQ(program->wait(), 1) << output;
  EXPECT_EQ(policy("kubernetes"), policy("local")) << output;
  EXPECT_NE(output.find("\n0 workers lost"), std::string::npos) << output;
  EXPECT_TRUE(nothing_left(std::chrono::seconds(60))) << left();
}

} // namespace
} // namespace fiber::e2e
