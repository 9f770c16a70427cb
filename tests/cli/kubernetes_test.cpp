// SPDX-License-Identifier: Apache-2.0
// The promise: `fiber run` starts drivers as pods of a real cluster and leaves nothing
// behind, and `fiber doctor` says what keeps jobs from running there.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"
#include "tests/cli/crashed_driver.hpp"
#include "tests/cli/detached_driver.hpp"
#include "tests/clusters/cluster.hpp"

namespace fiber::cli {
namespace {

using nlohmann::json;

constexpr auto image = "localhost/fiber-test:cli_run_program";
constexpr auto copy_image = "localhost/fiber-test:cli_copy";
constexpr auto program = "cli_run_program"; // Found in the image's $PATH.

/// Works in a namespace of its own, with the service account of rbac.yaml.
class KubernetesCommand : public testing::Test {
protected:
  static void SetUpTestSuite() {
    if (!clusters::kubernetes())
      return;
    space_ = "fiber-cli-" + std::to_string(std::random_device()() % 1000000);
    EXPECT_EQ(kubectl("create namespace " + space_).code, 0);
    EXPECT_EQ(kubectl("-n " + space_ + " apply -f " RBAC_YAML).code, 0);
    load_copy_image();
  }
  static void TearDownTestSuite() {
    if (clusters::kubernetes())
      kubectl("delete namespace --wait=false " + space_);
  }
  void SetUp() override {
    if (!clusters::kubernetes())
      GTEST_SKIP() << "SKIPPED: no Kubernetes cluster is up";
  }

  /// An image that has what `fiber cp` needs in a pod.
  static void load_copy_image() {
    auto control = clusters::kubernetes()->at("K8S_CONTROL");
    auto command = control.substr(0, control.rfind('/')) + "/load";
    for (std::string tool : {"sh", "head", "sleep"})
      command += " --file $(command -v " + tool + "):/usr/local/bin/" + tool;
    auto loaded = shell(command + " " + copy_image + " /bin/tar");
    EXPECT_EQ(loaded.code, 0) << loaded.err;
  }

  static Outcome kubectl(const std::string& words) {
    auto cluster = *clusters::kubernetes();
    return shell(cluster.at("K8S_KUBECTL") + " --kubeconfig " + cluster.at("KUBECONFIG") +
                 " " + words);
  }
  static Variables with(Variables variables = {}) {
    variables.insert({{"KUBECONFIG", clusters::kubernetes()->at("KUBECONFIG")},
                      {"FIBER_KUBERNETES_NAMESPACE", space_}});
    return variables;
  }
  static Words words(const Words& options, const Words& behind) {
    Words all{"run", "--backend", "kubernetes"};
    all.insert(all.end(), options.begin(), options.end());
    all.push_back("--");
    all.insert(all.end(), behind.begin(), behind.end());
    return all;
  }
  static Outcome run(const Words& options, const Words& behind,
                     const Variables& variables = {}) {
    return fiber_command(words(options, behind), with(variables));
  }
  /// Makes a volume in a folder of this machine, which the nodes see, and a claim to it.
  static void make_claim(const std::string& name, const TestFolder& folder) {
    auto place = folder.path("volume");
    shell("mkdir " + place + " && chmod 777 " + place); // The pods are not root.
    json about{{"storageClassName", name}, {"accessModes", {"ReadWriteMany"}}};
    auto volume = about, claim = about;
    volume.update({{"capacity", {{"storage", "1Mi"}}}, {"hostPath", {{"path", place}}}});
    claim["resources"]["requests"]["storage"] = "1Mi";
    json objects{{{"kind", "PersistentVolume"},
                  {"metadata", {{"name", space_ + "-" + name}}},
                  {"spec", volume}},
                 {{"kind", "PersistentVolumeClaim"},
                  {"metadata", {{"name", name}}},
                  {"spec", claim}}};
    for (auto& object : objects) {
      object["apiVersion"] = "v1";
      folder.write("object.json", object.dump());
      auto made = kubectl("-n " + space_ + " apply -f " + folder.path("object.json"));
      EXPECT_EQ(made.code, 0) << made.err;
    }
  }
  static void remove_claim(const std::string& name) {
    kubectl("-n " + space_ + " delete --wait=false persistentvolumeclaim " + name);
    kubectl("delete --wait=false persistentvolume " + space_ + "-" + name);
  }
  static Outcome copy(const std::string& source, const std::string& target,
                      const Variables& variables = {}) {
    return fiber_command({"cp", "--image", copy_image, source, target}, with(variables));
  }

  /// Waits until no pod, Job and session's Secret is left.
  static bool none_is_left() {
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(90);
    std::string left = "?";
    while (!left.empty() && std::chrono::steady_clock::now() < end)
      left = kubectl("-n " + space_ + " get pods,jobs -o name").out +
             kubectl("-n " + space_ +
                     " get secrets -l app.kubernetes.io/managed-by=fiber -o name")
               .out;
    EXPECT_EQ(left, "");
    return left.empty();
  }

  static void expect_trouble(const Words& options, const Variables& variables,
                             const std::string& name, const std::string& problem,
                             const std::string& advice) {
    Words all{"doctor", "kubernetes", "--json"};
    all.insert(all.end(), options.begin(), options.end());
    expect_last_trouble(fiber_command(all, with(variables)), name, problem, advice);
  }

  inline static std::string space_;
};

TEST_F(KubernetesCommand, runs_a_driver_as_a_pod_with_its_workers) {
  auto outcome = run(
    {"--image", image, "--env", "ONE=1", "--cpu", "0.2", "--memory", "256M"},
    {program, "sum", "4", "env", "ONE", "env", "FIBER_LEASE", "err", "oops", "exit", "3"},
    {{"FIBER_LEASE", "40s"}});
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  for (auto* line :
       {"sum 168\n", "ONE=1\n", "FIBER_LEASE=40s\n", "oops\n"}) // In any order.
    EXPECT_NE(outcome.out.find(line), std::string::npos) << outcome.out << outcome.err;
  EXPECT_TRUE(none_is_left());
}

TEST_F(KubernetesCommand, builds_an_image_and_gives_it_to_the_nodes) {
  TestFolder folder;
  auto tar = folder.path("image.tar");
  auto outcome = run({"--build", "--image", "localhost/fiber-test:cli-built", "--import",
                      "cat >" + tar + " && " + clusters::kubernetes()->at("K8S_CONTROL") +
                        " import " + tar},
                     {CLI_PROGRAM, "err", "built"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "built\n");
  EXPECT_EQ(run({"--build"}, {CLI_PROGRAM}).err,
            "fiber: --build on kubernetes: how do the nodes get the image? Give --push "
            "and an --image with the name of a registry, or an --import for each node\n");
}

TEST_F(KubernetesCommand, a_signal_stops_the_driver_and_its_workers) {
  Command command(words({"--image", image, "--name", "cli-test"}, {program, "wait", "1"}),
                  with());
  ASSERT_TRUE(command.says("waiting 2"));
  command.signal(SIGINT);
  auto outcome = command.wait();
  EXPECT_EQ(outcome.code, 128 + SIGTERM) << outcome.err;
  EXPECT_EQ(outcome.err,
            "fiber: asked the program to stop; the next signal stops everything\n");
  EXPECT_TRUE(none_is_left());
}

TEST_F(KubernetesCommand, an_image_that_is_not_there_is_an_error) {
  auto outcome =
    run({"--image", "localhost:1/none:1"}, {program}, {{"FIBER_START_DEADLINE", "5s"}});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("ErrImagePull"), std::string::npos) << outcome.err;
  EXPECT_TRUE(none_is_left());
}

TEST_F(KubernetesCommand, a_missing_service_account_is_named_with_what_makes_it) {
  auto outcome =
    run({"--image", image}, {program}, {{"FIBER_KUBERNETES_NAMESPACE", "default"}});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("apply -f deploy/kubernetes/rbac.yaml"), std::string::npos)
    << outcome.err;
}

TEST_F(KubernetesCommand, copies_a_folder_to_a_claim_and_back) {
  TestFolder folder;
  make_claim("data", folder);
  folder.write("one/a.txt", "first");
  folder.write("one/b/c.txt", std::string("\0\1\2", 3));
  std::string large(3 << 20, 'z');
  folder.write("large", large);
  auto there = copy(folder.path("one"), "kubernetes:data:/x/y");
  EXPECT_EQ(there.code, 0) << there.err;
  EXPECT_EQ(folder.read("volume/x/y/a.txt"), "first");
  auto into = copy(folder.path("large"), "kubernetes:data:/x"); // A folder that is there.
  EXPECT_EQ(into.code, 0) << into.err;
  auto whole = copy("kubernetes:data:/", folder.path("two"));
  EXPECT_EQ(whole.code, 0) << whole.err;
  EXPECT_EQ(folder.read("two/x/y/b/c.txt"), std::string("\0\1\2", 3));
  EXPECT_TRUE(folder.read("two/x/large") == large);
  EXPECT_EQ(copy("kubernetes:data:/none", folder.path("none")).err,
            "fiber: volume data has no /none\n");
  // A driver and its workers see the same volume.
  auto read = run({"--image", image, "--volume", "data:/mnt:ro"},
                  {program, "read", "/mnt/x/y/a.txt", "sum", "4"});
  EXPECT_EQ(read.out, "firstsum 168\n") << read.err;
  EXPECT_TRUE(none_is_left());
  remove_claim("data");
}

TEST_F(KubernetesCommand, cp_says_which_claim_image_or_right_is_missing) {
  TestFolder folder;
  folder.write("file", "text");
  auto file = folder.path("file");
  auto none = copy(file, "kubernetes:none:/x");
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.err.find("there is no volume none in namespace " + space_),
            std::string::npos)
    << none.err;
  EXPECT_EQ(copy(folder.path("gone"), "kubernetes:none:/x").err,
            "fiber: " + folder.path("gone") + " is not there\n");
  make_claim("small", folder);
  auto bare =
    fiber_command({"cp", "--image", image, file, "kubernetes:small:/x"}, with());
  EXPECT_EQ(bare.code, 1);
  EXPECT_NE(bare.err.find("must have sleep, sh, head and tar"), std::string::npos)
    << bare.err;
  auto user = shell(clusters::kubernetes()->at("K8S_CONTROL") + " user cp-" + space_ +
                    " " + space_ + "/fiber");
  auto refused = copy(file, "kubernetes:small:/x",
                      {{"KUBECONFIG", user.out.substr(0, user.out.find('\n'))}});
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("the Role in deploy/kubernetes/cp.yaml grants it"),
            std::string::npos)
    << refused.err;
  EXPECT_TRUE(none_is_left());
  remove_claim("small");
}

TEST_F(KubernetesCommand, doctor_finds_a_namespace_that_is_not_there) {
  expect_trouble({}, {{"FIBER_KUBERNETES_NAMESPACE", "cli-none"}}, "namespace",
                 "there is no namespace cli-none", "kubectl create namespace cli-none");
}

TEST_F(KubernetesCommand, doctor_names_the_rule_for_each_missing_right) {
  auto user = "cli-" + space_;
  auto path = shell(clusters::kubernetes()->at("K8S_CONTROL") + " user " + user).out;
  path = path.substr(0, path.find('\n'));
  expect_trouble({}, {{"KUBECONFIG", path}}, "rights", "may not create pods",
                 R"(- {apiGroups: ["batch"], resources: [jobs], verbs: [create]})");
}

TEST_F(KubernetesCommand, doctor_finds_credentials_that_are_not_valid) {
  TestFolder folder;
  auto all = json::parse(kubectl("config view --raw -o json").out);
  all["users"][0]["user"] = {{"token", "not-valid"}};
  folder.write("config", all.dump());
  expect_trouble({}, {{"KUBECONFIG", folder.path("config")}}, "API server",
                 "Unauthorized", "log in again");
}

TEST_F(KubernetesCommand, doctor_finds_a_server_with_another_certificate) {
  TestFolder folder;
  auto all = json::parse(kubectl("config view --raw -o json").out);
  auto& cluster = all["clusters"][0]["cluster"];
  cluster.erase("certificate-authority");
  cluster.erase("certificate-authority-data"); // So the system's, which are others.
  folder.write("config", all.dump());
  expect_trouble({}, {{"KUBECONFIG", folder.path("config")}}, "API server", "",
                 "certificate-authority");
}

TEST_F(KubernetesCommand, doctor_finds_an_image_of_another_program) {
  expect_trouble(
    {"--image", image},
    {{"FIBER_ADVERTISE_ADDRESS", clusters::kubernetes()->at("K8S_ADVERTISE_ADDRESS")}},
    "job dials back", "another build", "make the image anew");
}

TEST_F(KubernetesCommand, doctor_finds_an_image_that_the_nodes_do_not_get) {
  expect_trouble({"--image", "localhost:1/none:1", "--deadline", "5"}, {}, "job starts",
                 "ErrImagePull", "imagePullSecrets");
}

TEST_F(KubernetesCommand, kill_removes_the_objects_of_a_crashed_driver) {
  TestFolder folder;
  // No node takes its pods, so the anchor can't notice that the driver is gone.
  folder.write("pod.yaml", "apiVersion: v1\nkind: Pod\nspec:\n  nodeSelector: {cli-test: "
                           "none}\n");
  CrashedDriver driver({"stubborn", "1"}, "waiting",
                       with({{"FIBER_BACKEND", "kubernetes"},
                             {"FIBER_IMAGE", image},
                             {"FIBER_KUBERNETES_POD_TEMPLATE", folder.path("pod.yaml")},
                             {"FIBER_START_DEADLINE", "600s"},
                             {"FIBER_ADVERTISE_ADDRESS",
                              clusters::kubernetes()->at("K8S_ADVERTISE_ADDRESS")}}));
  // The driver says "waiting" before its worker's pod is created.
  EXPECT_TRUE(wait_for([] {
    auto pods = kubectl("-n " + space_ + " get pods -o name").out;
    return std::count(pods.begin(), pods.end(), '\n') == 2;
  }));
  driver.crash();
  auto base = "fiber-" + driver.session();
  auto shown = driver.await([](auto& one) {
    return one["crashed"] == true && one["left"].size() == 3; // Two pods and a Job.
  });
  EXPECT_EQ(shown["left"].back(), "Job " + base);
  EXPECT_EQ(kubectl("-n " + space_ + " get secret " + base).code, 0);
  auto killed = driver.fiber({"kill", "crashed"});
  EXPECT_EQ(killed.code, 0) << killed.err;
  EXPECT_TRUE(none_is_left());
  EXPECT_EQ(driver.ps().size(), 0U);
}

TEST_F(KubernetesCommand, verbs_reach_a_detached_driver_and_stop_ends_it) {
  auto outcome =
    run({"--image", image, "--detach", "--name", "cli-stop"}, {program, "wait", "1"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  DetachedDriver driver("cli-stop", with());
  driver.expect_seen("kubernetes", "pod");
  driver.end_by("stop");
  driver.expect_unlisted();
  kubectl("-n " + space_ + " delete --wait=false pod cli-stop");
  EXPECT_TRUE(none_is_left());
}

TEST_F(KubernetesCommand, kill_ends_a_detached_driver_and_its_workers) {
  ASSERT_EQ(
    run({"--image", image, "--detach", "--name", "cli-kill"}, {program, "wait", "1"})
      .code,
    0);
  DetachedDriver driver("cli-kill", with());
  driver.end_by("kill");
  EXPECT_TRUE(none_is_left());
  driver.expect_unlisted();
}

TEST_F(KubernetesCommand, a_detached_driver_has_the_given_name) {
  auto outcome = run({"--image", image, "--detach", "--json", "--name", "cli-detached"},
                     {program, "exit", "0"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["name"], "cli-detached");
  EXPECT_EQ(run({"--image", image, "--name", "cli-detached"}, {program}).err,
            "fiber: there is a pod cli-detached already; choose another --name\n");
  EXPECT_EQ(kubectl("-n " + space_ + " delete --wait=false pod cli-detached").code, 0);
}

} // namespace
} // namespace fiber::cli
