// SPDX-License-Identifier: Apache-2.0
// Whatever keeps pods from starting, the error says it in the cluster's own words.
#include <algorithm>
#include <chrono>
#include <functional>
#include <string>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/clusters/kubernetes_cluster.hpp"
#include "tests/e2e/support/notes.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

constexpr Resources few_resources{.cpu = 0.05};

class KubernetesStart : public KubernetesTest {
protected:
  Config hurried() const {
    auto settings = config();
    settings.start_deadline = settings.queue_deadline = 8s;
    return settings;
  }

  /// What the first call to a pool throws; nothing else may come of it.
  template <class E>
  std::string refusal(const Config& settings, Resources resources = few_resources) {
    testing::internal::CaptureStderr(); // Where the log is.
    auto said = words<E>(settings, resources);
    log_ = testing::internal::GetCapturedStderr();
    return said;
  }
  /// What was logged meanwhile.
  const std::string& log() const { return log_; }

  void write_template(Config& settings, const std::string& spec) const {
    settings.kubernetes_pod_template =
      file("pod.yaml", "spec:\n  containers:\n    - name: fiber\n" + spec);
  }

private:
  template <class E>
  std::string words(const Config& settings, Resources resources) {
    try {
      open(settings);
      Pool pool(PoolOptions{.workers = 1, .resources = resources});
      pool.apply(f, std::size_t{1});
      ADD_FAILURE() << "a task has run";
    } catch (const E& error) {
      return error.what();
    } catch (const std::exception& error) {
      ADD_FAILURE() << "not the error wanted: " << error.what();
    }
    return {};
  }

  std::string log_;
};

#define EXPECT_SAYS(text, part)                                                          \
  EXPECT_NE((text).find(part), std::string::npos) << "it says: " << (text)

TEST_F(KubernetesStart, names_an_image_that_is_nowhere) {
  auto settings = hurried();
  settings.image = "localhost/fiber-test:no_such_image";
  write_template(settings, "      imagePullPolicy: IfNotPresent\n");
  auto said = refusal<TimeoutError>(settings);
  EXPECT_SAYS(said, "no_such_image");
  EXPECT_SAYS(said, "start_deadline");
  EXPECT_SAYS(log(), "waits: ErrImagePull: ");
}

TEST_F(KubernetesStart, says_at_once_that_an_image_is_never_pulled) {
  auto settings = hurried();
  settings.image = "localhost/fiber-test:no_such_image";
  write_template(settings, "      imagePullPolicy: Never\n");
  auto said = refusal<BackendError>(settings);
  EXPECT_SAYS(said, "ErrImageNeverPull");
  EXPECT_SAYS(said, "no_such_image");
}

TEST_F(KubernetesStart, says_why_no_node_can_have_a_pod) {
  auto said = refusal<TimeoutError>(hurried(), {.cpu = 1000});
  EXPECT_SAYS(said, "queue_deadline");
  EXPECT_SAYS(said, "Unschedulable");
  EXPECT_SAYS(said, "Insufficient cpu");
  EXPECT_SAYS(log(), "waits: Unschedulable: ");
}

TEST_F(KubernetesStart, waits_for_a_cordoned_node_longer_than_a_start_may_take) {
  AtEnd uncordon(cluster("K8S_KUBECTL") + " uncordon node1 node2");
  kubectl("cordon node1 node2");
  auto settings = config();
  settings.start_deadline = 8s;
  open(settings);
  Pool pool(PoolOptions{.workers = 2, .resources = few_resources});
  auto results = pool.map_async(f, indices(20));
  EXPECT_FALSE(results.wait_for(10s));
  EXPECT_NO_THROW(pool.stats()); // The pool lives.
  kubectl("uncordon node1 node2");
  EXPECT_EQ(results.get(), undisturbed(20));
}

TEST_F(KubernetesStart, uses_what_a_quota_leaves_and_waits_for_the_rest) {
  apply("apiVersion: v1\n"
        "kind: ResourceQuota\n"
        "metadata: {name: small}\n"
        "spec: {hard: {pods: 2}}\n"); // Another one is the anchor's.
  ASSERT_TRUE(await(
    [&] { return !kubectl("get quota small -o jsonpath={.status.hard}").empty(); }));
  auto settings = config();
  settings.start_deadline = 8s;
  testing::internal::CaptureStderr(); // Where the log is.
  open(settings);
  Pool pool(PoolOptions{.workers = 5, .resources = few_resources});
  EXPECT_EQ(pool.map(f, indices(20)), undisturbed(20));
  EXPECT_FALSE(pool.wait_until_workers_up(10s));
  EXPECT_EQ(pool.map(f, indices(20)), undisturbed(20));
  EXPECT_EQ(pool.stats().workers_lost, 0u);
  kubectl("delete quota small");
  EXPECT_TRUE(pool.wait_until_workers_up(60s));
  auto told = testing::internal::GetCapturedStderr();
  EXPECT_SAYS(told, "exceeded quota: small");
  auto lines = std::count(told.begin(), told.end(), '\n');
  EXPECT_LE(lines, 3) << told;
}

TEST_F(KubernetesStart, names_a_gpu_that_no_node_has) {
  auto settings = hurried();
  settings.gpu_key = "example.com/tpu";
  auto said = refusal<TimeoutError>(settings, {.cpu = 0.05, .gpu = 1});
  EXPECT_SAYS(said, "example.com/tpu");
}

TEST_F(KubernetesStart, names_the_quota_that_is_used_up) {
  apply("apiVersion: v1\n"
        "kind: ResourceQuota\n"
        "metadata: {name: small}\n"
        "spec: {hard: {requests.cpu: 100m}}\n");
  // What a quota hears of late it does not keep.
  ASSERT_TRUE(await(
    [&] { return !kubectl("get quota small -o jsonpath={.status.hard}").empty(); }));
  auto said = refusal<BackendError>(hurried(), {.cpu = 1});
  EXPECT_SAYS(said, "exceeded quota: small");
}

TEST_F(KubernetesStart, leaves_nothing_if_the_namespace_refuses_the_anchor) {
  apply("apiVersion: v1\n"
        "kind: ResourceQuota\n"
        "metadata: {name: none}\n"
        "spec: {hard: {pods: 0}}\n");
  ASSERT_TRUE(
    await([&] { return !kubectl("get quota none -o jsonpath={.status.hard}").empty(); }));
  auto said = refusal<BackendError>(hurried());
  EXPECT_SAYS(said, "create the anchor's pod: ");
  EXPECT_SAYS(said, "exceeded quota: none");
  EXPECT_EQ(left(), "");
}

TEST_F(KubernetesStart, tells_an_image_without_this_program) {
  auto settings = hurried();
  settings.image = "localhost/fiber-k8s/pause:1";
  auto said = refusal<TimeoutError>(settings);
  EXPECT_SAYS(said, "start_deadline");
  EXPECT_SAYS(said, "does the image run this program?");
}

TEST_F(KubernetesStart, refuses_an_image_of_another_build) {
  auto settings = config();
  settings.image = "localhost/fiber-test:hello";
  auto said = refusal<VersionMismatch>(settings);
  EXPECT_SAYS(said, "build");
}

TEST_F(KubernetesStart, names_a_namespace_that_is_not_there) {
  auto settings = hurried();
  settings.kubernetes_namespace = "no-such-namespace";
  auto said = refusal<BackendError>(settings);
  EXPECT_SAYS(said, "\"no-such-namespace\" not found");
}

TEST_F(KubernetesStart, names_the_right_that_is_missing) {
  for (auto& [verbs, missing] : {
         std::pair<std::string, std::string>{"create,get,watch,delete", "list"},
         {"get,list,watch,delete", "create"},
       }) {
    auto name = name_space() + "-" + missing;
    kubectl("create role no-" + missing + " --resource=pods --verb=" + verbs);
    kubectl("create role rest-" + missing +
            " --resource=secrets,jobs.batch --verb=create,get,delete");
    control("user " + name + " " + name_space() + "/no-" + missing);
    kubectl("create rolebinding rest-" + std::string(missing) + " --role rest-" +
            missing + " --user " + name);
    ::setenv("KUBECONFIG",
             (cluster("K8S_STATE") + "/users/" + name + ".kubeconfig").c_str(), 1);
    auto said = refusal<BackendError>(hurried());
    ::setenv("KUBECONFIG", cluster("KUBECONFIG").c_str(), 1);
    EXPECT_SAYS(said, "cannot " + missing + " resource \"pods\"");
    EXPECT_SAYS(said, "deploy/kubernetes/rbac.yaml");
    close();
  }
}

TEST_F(KubernetesStart, points_at_the_line_of_a_kubeconfig) {
  auto path = file("kubeconfig", "apiVersion: v1\n"
                                 "kind: Config\n"
                                 "current-context: a\n"
                                 "contexts:\n"
                                 "  - name: a\n"
                                 "    context: {cluster: none, user: u}\n");
  ::setenv("KUBECONFIG", path.c_str(), 1);
  auto said = refusal<ConfigError>(hurried());
  ::setenv("KUBECONFIG", cluster("KUBECONFIG").c_str(), 1);
  EXPECT_SAYS(said, path + ":");
}

TEST_F(KubernetesStart, says_that_jobs_cannot_reach_the_driver) {
  auto settings = config();
  settings.advertise_address = "10.255.255.1:1";
  auto said = refusal<BackendError>(settings);
  EXPECT_SAYS(said, "jobs cannot reach 10.255.255.1:1; set advertise_address");
}

} // namespace
} // namespace fiber::e2e
