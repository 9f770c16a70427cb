// SPDX-License-Identifier: Apache-2.0
// A pool on a real Kubernetes does its work, whatever happens to pods, nodes and the API
// server, and leaves nothing behind.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <set>
#include <thread>

#include <unistd.h>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/clusters/kubernetes_cluster.hpp"
#include "tests/e2e/support/notes.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

constexpr double little = 0.05; ///< CPUs, so that many fit.

PoolOptions workers_of(std::size_t n) {
  return {.workers = n, .resources = {.cpu = little}};
}

class KubernetesPool : public KubernetesTest {};

TEST_F(KubernetesPool, maps_right_and_leaves_nothing_behind) {
  open(config());
  {
    Pool pool(workers_of(4));
    EXPECT_EQ(pool.map(f, indices(400)), undisturbed(400));
    EXPECT_TRUE(pool.wait_until_workers_up(60s));
    EXPECT_EQ(workers().size(), 4u);
    EXPECT_NE(left().find("Secret/fiber-"), std::string::npos);
    EXPECT_EQ(pool.map(f, indices(400)), undisturbed(400));
    EXPECT_EQ(pool.stats().workers_lost, 0u);
    expect_restricted();
  }
  close();
  EXPECT_TRUE(nothing_left()) << left();
}

/// Returns how the file is there for a task: "written", "read", or "-".
std::string reached(const std::string& path) {
  if (std::ofstream(path, std::ios::app) << "x" << std::flush)
    return "written";
  return std::ifstream(path).get() != EOF ? "read" : "-";
}

TEST_F(KubernetesPool, runs_tasks_as_nobody_on_a_read_only_disk) {
  open(config());
  Pool pool(workers_of(1));
  EXPECT_EQ(pool.apply([] { return ::getuid(); }), 65532u);
  EXPECT_EQ(pool.apply(reached, std::string("/usr/note")), "-");
  EXPECT_EQ(pool.apply(reached, std::string("/tmp/note")), "written");
  EXPECT_EQ(pool.apply(reached, std::string("/var/run/fiber/keys")), "read");
  auto modes = kubectl("get pods -l app.kubernetes.io/component=worker -o jsonpath="
                       "{.items[0].spec.volumes[0].secret.defaultMode}");
  EXPECT_EQ(modes, "256"); // 0400
}

TEST_F(KubernetesPool, runs_tasks_as_root_if_asked) {
  auto settings = config();
  settings.kubernetes_security = "none";
  settings.kubernetes_pod_template =
    file("root.yaml",
         "spec: {containers: [{name: fiber, securityContext: {runAsUser: 0}}]}\n");
  open(settings);
  Pool pool(workers_of(1));
  EXPECT_EQ(pool.apply([] { return ::getuid(); }), 0u);
  EXPECT_EQ(pool.apply(reached, std::string("/usr/note")), "written");
}

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

TEST_F(KubernetesPool, keeps_its_image_when_the_tag_moves) {
  const std::string tag = "localhost:5000/moving:latest"; // Each pod pulls it.
  control("push " + std::string(test_image) + " " + tag);
  auto settings = config();
  settings.image = tag;
  open(settings);
  Pool pool(workers_of(1));
  const auto first = pool.apply(host_name);
  ASSERT_TRUE(await_running(1)); // The node has told which image it is.
  control("push localhost/fiber-k8s/pause:1 " + tag);
  kubectl("delete pod --wait=false " + first);
  EXPECT_TRUE(await([&] { return pool.apply(host_name) != first; }));
  auto images = kubectl("get pods -l app.kubernetes.io/component=worker "
                        "-o jsonpath='{.items[*].spec.containers[0].image}'");
  EXPECT_NE(images.find("localhost:5000/moving@sha256:"), std::string::npos) << images;
}

std::size_t slowly(std::size_t i) {
  std::this_thread::sleep_for(100ms);
  return f(i);
}

TEST_F(KubernetesPool, charges_nobody_when_a_pod_is_deleted) {
  open(config());
  auto options = workers_of(2);
  options.max_retries = 0;
  Pool pool(options);
  auto results = pool.map_async(slowly, indices(200));
  ASSERT_TRUE(await_running(2));
  ASSERT_TRUE(await([&] { return results.done() > 10; }));
  auto there = workers();
  ASSERT_FALSE(there.empty());
  auto deleted = there.front().name; // Its replacement has another one.
  kubectl("delete pod --wait=false " + deleted);
  EXPECT_EQ(results.get(), undisturbed(200));
  EXPECT_TRUE(await([&] {
    auto left = workers();
    return std::none_of(left.begin(), left.end(),
                        [&](auto& pod) { return pod.name == deleted; });
  }));
  EXPECT_TRUE(await([&] { return pool.stats().workers == 2; }));
  EXPECT_EQ(pool.stats().workers_lost, 0u);
}

TEST_F(KubernetesPool, charges_nobody_when_a_node_is_drained) {
  open(config());
  auto options = workers_of(4);
  options.max_retries = 0;
  Pool pool(options);
  auto results = pool.map_async(slowly, indices(400));
  ASSERT_TRUE(await_running(4));
  ASSERT_TRUE(await([&] { return results.done() > 10; }));
  auto there = workers();
  ASSERT_TRUE(std::any_of(there.begin(), there.end(),
                          [](auto& pod) { return pod.node == victim(); }));
  AtEnd uncordon(cluster("K8S_KUBECTL") + " uncordon " + victim());
  kubectl("drain --force --ignore-daemonsets --delete-emptydir-data --timeout=60s " +
          victim());
  EXPECT_EQ(results.get(), undisturbed(400));
  EXPECT_TRUE(await([&] { return pool.stats().workers == 4; }));
  EXPECT_EQ(pool.stats().workers_lost, 0u);
  for (auto& pod : workers())
    EXPECT_NE(pod.node, victim()) << pod.name;
}

std::size_t cut_off_once(std::size_t i) {
  if (i == 60 && this_task::attempt() == 1)
    kill(getpid(), SIGKILL);
  return slowly(i);
}

/// FIBER_TEST_OUTAGE: how many seconds the API server is away.
std::chrono::seconds outage() {
  auto* told = std::getenv("FIBER_TEST_OUTAGE");
  return std::chrono::seconds(told ? std::atoi(told) : 30);
}

TEST_F(KubernetesPool, goes_on_without_the_api_server) {
  open(config());
  Pool pool(workers_of(4));
  const auto tasks = static_cast<std::size_t>(outage().count()) * 50;
  ASSERT_TRUE(pool.wait_until_workers_up(60s));
  auto results = pool.map_async(cut_off_once, indices(tasks), {.chunksize = 1});
  ASSERT_TRUE(await([&] { return results.done() > 10; }));
  control("kill kube-apiserver");
  auto end = std::chrono::steady_clock::now() + outage();
  auto before = results.done();
  EXPECT_TRUE(
    await([&] { return pool.stats().workers_lost == 1; })); // Task 60 ends its pod.
  EXPECT_TRUE(await([&] { return results.done() > before + 50; }));
  await([&] { return std::chrono::steady_clock::now() >= end; }, outage() * 2);
  control("start kube-apiserver");
  EXPECT_EQ(results.get(), undisturbed(tasks));
  EXPECT_TRUE(await([&] { return pool.stats().workers == 4; }));
  EXPECT_EQ(pool.stats().failed, 0u);
}

std::size_t for_two_seconds(std::size_t i) {
  std::this_thread::sleep_for(2s);
  return f(i);
}

TEST_F(KubernetesPool, does_again_what_a_node_out_of_reach_was_at) {
  auto settings = config();
  settings.heartbeat_timeout = 2s;
  settings.lease = 60s;
  settings.start_deadline = 60s;
  open(settings);
  Pool pool(workers_of(4));
  auto results = pool.map_async(for_two_seconds, indices(40), {.chunksize = 1});
  ASSERT_TRUE(await_running(4));
  std::set<std::string> cut;
  for (auto& pod : workers())
    if (pod.node == victim())
      cut.insert(pod.name);
  ASSERT_FALSE(cut.empty());
  ASSERT_TRUE(await([&] { return pool.stats().workers == 4; }));
  ASSERT_TRUE(await([&] { return results.done() > 3; }));
  AtEnd mend(cluster("K8S_CONTROL") + " mend " + victim());
  control("cut " + victim());
  EXPECT_TRUE(await([&] { return pool.stats().workers_lost >= cut.size(); }));
  EXPECT_TRUE(await([&] { return results.done() > 20; }));
  control("mend " + victim());
  EXPECT_EQ(results.get(), undisturbed(40));
  EXPECT_EQ(pool.stats().failed, 0u);
  EXPECT_TRUE(await([&] { return pool.stats().workers == 4; }, 120s));
  for (auto& pod : workers())
    EXPECT_TRUE(pod.phase != "Running" || cut.count(pod.name) == 0) << pod.name;
  kubectl("wait --for=condition=Ready --timeout=60s node " + victim());
}

std::size_t eat(std::size_t megabytes) {
  std::vector<char> eaten(megabytes << 20);
  for (std::size_t at = 0; at < eaten.size(); at += 4096)
    eaten[at] = static_cast<char>(at);
  return eaten.size();
}

TEST_F(KubernetesPool, says_which_limit_a_hungry_task_broke) {
  open(config());
  Pool pool(PoolOptions{
    .workers = 1, .resources = {.cpu = little, .memory_mb = 256}, .max_retries = 0});
  try {
    pool.apply(eat, std::size_t{600});
    FAIL() << "a task that needs 600 MB has ended within 256";
  } catch (const WorkerLost& error) {
    EXPECT_NE(error.reason().find("OOMKilled"), std::string::npos) << error.what();
    EXPECT_NE(error.reason().find("256 MiB"), std::string::npos) << error.what();
  }
  EXPECT_EQ(pool.apply(f, std::size_t{3}), f(3));
}

} // namespace
} // namespace fiber::e2e
