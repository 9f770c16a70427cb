// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/clusters/kubernetes_cluster.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "tests/backends/kubernetes/restricted_pod.hpp"

namespace fiber::e2e {

using namespace std::chrono_literals;

Ran run(const std::string& command) {
  auto* pipe = ::popen(("exec 2>&1; " + command).c_str(), "re");
  if (pipe == nullptr)
    throw std::runtime_error("popen " + command);
  Ran ran;
  std::array<char, 4096> buffer{};
  for (std::size_t got = 0; (got = std::fread(buffer.data(), 1, 4096, pipe)) > 0;)
    ran.output.append(buffer.data(), got);
  auto status = ::pclose(pipe);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return ran;
}

bool await(const std::function<bool()>& condition, std::chrono::milliseconds limit) {
  auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end)
      return false;
    std::this_thread::sleep_for(200ms);
  }
  return true;
}

void KubernetesTest::SetUp() {
  cluster_ = clusters::kubernetes();
  if (!cluster_)
    GTEST_SKIP() << "no Kubernetes cluster is up";
  ::setenv("KUBECONFIG", cluster("KUBECONFIG").c_str(), 1);
  auto name = (std::filesystem::temp_directory_path() / "e2e-k8s-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    throw std::runtime_error("mkdtemp " + name);
  folder_ = name;
  static int number = 0;
  auto wanted = "e2e-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
  auto made = run(cluster("K8S_KUBECTL") + " create namespace " + wanted);
  ASSERT_EQ(made.code, 0) << made.output;
  name_space_ = wanted;
  kubectl("label namespace " + wanted + " pod-security.kubernetes.io/enforce=restricted");
  // No pod is admitted before.
  ASSERT_TRUE(await([&] {
    return run(cluster("K8S_KUBECTL") + " -n " + wanted + " get serviceaccount default")
             .code == 0;
  }));
}

void KubernetesTest::TearDown() {
  close();
  if (!name_space_.empty())
    kubectl("delete namespace --wait=false " + name_space_);
  if (!folder_.empty())
    std::filesystem::remove_all(folder_);
}

const std::string& KubernetesTest::cluster(const std::string& name) const {
  return cluster_->at(name);
}

Config KubernetesTest::config() const {
  Config config;
  config.backend = "kubernetes";
  config.image = test_image;
  config.kubernetes_namespace = name_space_;
  config.forward_output = false;
  if (std::getenv("FIBER_LOG_LEVEL") == nullptr)
    config.log_level = "warn";
  return config;
}

void KubernetesTest::open(Config config) {
  auto arguments = 0;
  char** none = nullptr;
  session_.emplace(init(arguments, none, std::move(config)));
}

std::vector<std::string> KubernetesTest::settings(const std::string& image) const {
  return {"FIBER_BACKEND=kubernetes", "FIBER_IMAGE=" + image,
          "FIBER_KUBERNETES_NAMESPACE=" + name_space_};
}

std::string KubernetesTest::kubectl(const std::string& arguments) const {
  auto ran = run(cluster("K8S_KUBECTL") + " -n " + name_space_ + " " + arguments);
  EXPECT_EQ(ran.code, 0) << "kubectl " << arguments << "\n" << ran.output;
  return ran.output;
}

void KubernetesTest::apply(const std::string& yaml) const {
  kubectl("apply -f " + file("applied.yaml", yaml));
}

void KubernetesTest::control(const std::string& arguments) const {
  auto ran = run(cluster("K8S_CONTROL") + " " + arguments);
  EXPECT_EQ(ran.code, 0) << "control " << arguments << "\n" << ran.output;
}

const std::string& KubernetesTest::victim() {
  static const std::string node = "node1";
  return node;
}

std::vector<Pod> KubernetesTest::workers() const {
  std::istringstream lines(kubectl(
    "get pods -l app.kubernetes.io/component=worker -o jsonpath='{range .items[*]}"
    "{.metadata.name} {.status.phase} {.spec.nodeName} "
    "{.metadata.deletionTimestamp}{\"\\n\"}{end}'"));
  std::vector<Pod> pods;
  for (std::string line; std::getline(lines, line);) {
    Pod pod;
    std::string deleted;
    std::istringstream(line) >> pod.name >> pod.phase >> pod.node >> deleted;
    if (!deleted.empty())
      pod.phase = "Terminating";
    pods.push_back(pod);
  }
  return pods;
}

bool KubernetesTest::await_running(std::size_t wanted) const {
  return await([&] {
    std::size_t running = 0;
    for (auto& pod : workers())
      running += pod.phase == "Running" ? 1 : 0;
    return running == wanted;
  });
}

void KubernetesTest::expect_restricted() const {
  auto pods = nlohmann::json::parse(kubectl("get pods -o json"))["items"];
  EXPECT_FALSE(pods.empty());
  for (auto& pod : pods)
    EXPECT_EQ(backends::kubernetes::restricted_violations(pod["spec"]),
              std::vector<std::string>())
      << pod["metadata"]["name"];
}

std::string KubernetesTest::left(const std::string& prefix) const {
  return run(prefix + " " + cluster("K8S_KUBECTL") + " -n " + name_space_ +
             " get pods,jobs,secrets -l app.kubernetes.io/managed-by=fiber -o jsonpath="
             "'{range .items[*]}{.kind}/{.metadata.name} "
             "{.metadata.deletionTimestamp}{\"\\n\"}{end}'")
    .output;
}

bool KubernetesTest::nothing_left(const std::string& prefix) const {
  return await([&] { return left(prefix).empty(); }, std::chrono::minutes(5));
}

std::string KubernetesTest::file(const std::string& name, const std::string& text) const {
  auto path = folder_ + "/" + name;
  std::ofstream(path) << text;
  return path;
}

} // namespace fiber::e2e
