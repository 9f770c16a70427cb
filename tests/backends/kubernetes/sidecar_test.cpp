// SPDX-License-Identifier: Apache-2.0
// The promise: a container that a webhook adds to the anchor's pod, and that never ends,
// keeps nothing of a driver that was killed.
#include <sys/wait.h>

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <random>
#include <sstream>

#include "backends/anchor_linger.hpp"
#include "backends/kubernetes/api.hpp"
#include "backends/kubernetes/kubernetes_backend.hpp"
#include "backends/kubernetes/manifests.hpp"
#include "backends/kubernetes/reply_json.hpp"
#include "tests/backends/contract.hpp"
#include "tests/backends/kubernetes/killed_driver.hpp"
#include "tests/clusters/cluster.hpp"

namespace fiber::backends::kubernetes {

using nlohmann::json;
using namespace std::chrono_literals;

int drive(const std::string& name_space) {
  KubernetesOptions options;
  options.access = from_kubeconfig(
    {.name_space = name_space, .files = clusters::kubernetes()->at("KUBECONFIG")});
  options.image = "localhost/fiber-test:kubernetes_test";
  options.forward_output = false;
  options.anchor_deadline = 10s;
  auto backend = make_kubernetes(options);
  auto spec = [](const std::string& name, const std::string& script) {
    auto made = BackendTest::spec(name, script);
    made.resources.cpu = 0.01;
    return made;
  };
  backend->anchor(spec("anchor", std::string("linger ") + anchor_linger + "\nexit 0"));
  backend->create(spec("one", "wait"));
  for (;;)
    ::pause();
}

namespace {

class Sidecar : public testing::Test {
protected:
  void SetUp() override {
    if (!clusters::kubernetes())
      GTEST_SKIP() << "SKIPPED: no Kubernetes cluster is up";
    admin_.emplace(loop_,
                   from_kubeconfig({.name_space = space_,
                                    .files = clusters::kubernetes()->at("KUBECONFIG")}));
    create("/api/v1/namespaces",
           {{"metadata", {{"name", space_}, {"labels", {{"fiber-test", space_}}}}}});
    start_webhook();
  }

  void TearDown() override {
    if (!admin_)
      return;
    for (auto& path : {webhooks + "/" + space_, "/api/v1/namespaces/" + space_})
      admin_->call({.method = "DELETE", .path = path});
    if (webhook_ > 0)
      ::kill(webhook_, SIGTERM);
    admin_->close();
    loop_.stop();
  }

  void create(const std::string& path, const json& object) {
    auto reply = admin_->call(json_request("POST", path, object));
    ASSERT_TRUE(reply.ok()) << problem(reply);
  }

  void start_webhook() {
    auto command = "exec " SIDECAR_WEBHOOK " " +
                   clusters::kubernetes()->at("K8S_ADVERTISE_ADDRESS") +
                   " localhost/fiber-k8s/pause:1";
    output_.reset(::popen(command.c_str(), "r"));
    std::string line;
    for (int c; (c = std::fgetc(output_.get())) != EOF && c != '\n';)
      line += static_cast<char>(c);
    std::string url, authority;
    std::istringstream(line) >> webhook_ >> url >> authority;
    ASSERT_GT(webhook_, 0) << line;
    create(webhooks,
           {{"metadata", {{"name", space_}}},
            {"webhooks",
             {{{"name", "sidecar.fiber.test"},
               {"clientConfig", {{"url", url}, {"caBundle", authority}}},
               {"rules",
                {{{"operations", {"CREATE"}},
                  {"apiGroups", {""}},
                  {"apiVersions", {"v1"}},
                  {"resources", {"pods"}}}}},
               {"namespaceSelector", {{"matchLabels", {{"fiber-test", space_}}}}},
               {"sideEffects", "None"},
               {"admissionReviewVersions", {"v1"}}}}}});
  }

  json pods(const std::string& component) {
    auto selector = std::string(component_label) + "=" + component;
    auto reply = admin_->call(
      {.path = admin_->path("pods") + "?labelSelector=" + http::escape(selector)});
    return part(parse_reply(reply.body), "items");
  }

  /// Returns whether the first pod of the component has this many containers, the first
  /// of which is in this state.
  bool is(const std::string& component, const char* state, std::size_t containers) {
    auto all = pods(component);
    if (all.empty())
      return false;
    auto& status = part(all[0], "status", "containerStatuses");
    return status.size() == containers &&
           part(named(status, "fiber"), "state", state).is_object() &&
           part(named(status, "sidecar"), "state", "running").is_object();
  }

  std::size_t left() {
    std::size_t count = 0;
    for (auto* kind : {"pods", "secrets", "jobs"}) {
      auto selector = std::string(managed_label) + "=fiber";
      auto reply = admin_->call(
        {.path = admin_->path(kind) + "?labelSelector=" + http::escape(selector)});
      EXPECT_TRUE(reply.ok()) << problem(reply);
      count += part(parse_reply(reply.body), "items").size();
    }
    return count;
  }

  const std::string space_ = "fiber-sidecar-" + std::to_string(::getpid()) + "-" +
                             std::to_string(std::random_device{}());
  const std::string webhooks =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
  struct Close {
    void operator()(FILE* file) const { ::pclose(file); }
  };
  std::unique_ptr<FILE, Close> output_;
  int webhook_ = 0;
  Loop loop_;
  std::optional<Api> admin_;
};

TEST_F(Sidecar, that_never_ends_keeps_nothing_of_a_killed_driver) {
  ASSERT_GT(webhook_, 0);
  auto driver = ::fork();
  if (driver == 0) {
    ::execl("/proc/self/exe", "kubernetes_test", "--drive", space_.c_str(), nullptr);
    ::_exit(127);
  }
  EXPECT_TRUE(
    eventually([&] { return is("anchor", "running", 2) && is("worker", "running", 2); }))
    << pods("anchor") << pods("worker");
  EXPECT_GE(left(), 4u); // The Job, its Secret, and two pods.
  ::kill(driver, SIGKILL);
  ::waitpid(driver, nullptr, 0);
  EXPECT_TRUE(eventually([&] { return left() == 0; })) << pods("anchor");
}

} // namespace

} // namespace fiber::backends::kubernetes
