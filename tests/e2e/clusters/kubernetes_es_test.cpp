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

#include "tests/e2e/clusters/es_training.hpp"
#include "tests/e2e/clusters/kubernetes_cluster.hpp"
#include "tests/examples/program.hpp"

namespace fiber::e2e {
namespace {

constexpr int iterations = 500;
#ifdef __SANITIZE_ADDRESS__ // Each takes so much longer.
constexpr auto episodes = "4";
#else
constexpr auto episodes = "32";
#endif

class KubernetesEs : public KubernetesTest {
protected:
  /// A run that does not solve its task, so that it goes on to the last iteration.
  std::unique_ptr<Program> start(const std::string& out,
                                 const std::vector<std::string>& settings) const {
    std::vector<std::string> command{"/usr/bin/env", "FIBER_START_DEADLINE=120s"};
    command.insert(command.end(), settings.begin(), settings.end());
    command.insert(command.end(),
                   {ES_TRAIN, "--env", "cartpole", "--iterations",
                    std::to_string(iterations), "--directions", "100", "--episodes",
                    episodes, "--learning-rate", "0.0001", "--seed", "5", "--workers",
                    "2", "--out", folder() + "/" + out});
    return std::make_unique<Program>(command);
  }
};

/// " 20/300  mean ...": 20; 0 for any other line.
int iteration_in(const std::string& line) {
  int number = 0;
  char slash = 0;
  std::istringstream(line) >> number >> slash;
  return slash == '/' ? number : 0;
}

/// Reads what the program says, in the background, until it is held: then the program
/// stands still, too, some 100 iterations later at most, and a slow cluster finds it at
/// work.
class Reader {
public:
  explicit Reader(Program& program) : program_(program) { program_.limit_unread(); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { release(); }

  void hold() { held_ = true; }
  void release() {
    held_ = false;
    held_.notify_all();
  }
  int iteration() const { return iteration_; }
  /// All of it, when the program has ended.
  const std::string& rest() {
    release();
    thread_.join();
    return output_;
  }

private:
  void read() {
    while (auto line = program_.line()) {
      output_ += *line + "\n";
      iteration_ = std::max(iteration_.load(), iteration_in(*line));
      held_.wait(true);
    }
  }

  Program& program_;
  std::string output_;
  std::atomic<int> iteration_ = 0;
  std::atomic<bool> held_ = false;
  std::jthread thread_{[this] { read(); }};
};

TEST_F(KubernetesEs, ends_the_same_though_a_pod_is_deleted_and_a_node_drained) {
  auto local = start("local", {"FIBER_BACKEND=local"});
  auto told = local->rest();
  ASSERT_EQ(local->wait(), 1) << told;
  ASSERT_FALSE(policy_in(folder() + "/local").empty()) << told;

  auto program = start("kubernetes", settings("localhost/fiber-test:es_train"));
  Reader reader(*program);
  EXPECT_TRUE(await([&] { return reader.iteration() > 10; }));
  reader.hold();
  ASSERT_TRUE(await_running(2));
  kubectl("delete pod --wait=false " + workers().front().name);
  reader.release();
  auto at_delete = reader.iteration();
  EXPECT_TRUE(await([&] { return reader.iteration() > at_delete + 10; }));
  reader.hold();
  ASSERT_TRUE(await_running(2));
  auto running = [](auto& pod) { return pod.phase == "Running"; };
  auto pods = workers();
  auto evicted = *std::ranges::find_if(pods, running);
  AtEnd uncordon(cluster("K8S_KUBECTL") + " uncordon " + evicted.node);
  std::jthread drain([&] {
    kubectl("drain --force --ignore-daemonsets --delete-emptydir-data --timeout=90s " +
            evicted.node);
  });
  EXPECT_TRUE(await([&] {
    return std::ranges::none_of(
      workers(), [&](auto& pod) { return pod.name == evicted.name && running(pod); });
  }));
  EXPECT_LT(reader.iteration(), iterations - 150);
  auto& output = reader.rest();
  drain.join();
  EXPECT_EQ(program->wait(), 1) << output;
  EXPECT_EQ(policy_in(folder() + "/kubernetes"), policy_in(folder() + "/local"))
    << output;
  EXPECT_NE(output.find("\n0 workers lost"), std::string::npos) << output;
  EXPECT_TRUE(nothing_left()) << left();
}

} // namespace
} // namespace fiber::e2e
