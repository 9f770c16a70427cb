// SPDX-License-Identifier: Apache-2.0
// The promise: pods are what Pod Security's level "restricted" admits, and whatever a
// template says instead holds.
#include "backends/kubernetes/security.hpp"

#include <gtest/gtest.h>

#include "backends/kubernetes/manifests.hpp"
#include "tests/backends/contract.hpp"
#include "tests/backends/kubernetes/restricted_pod.hpp"

namespace fiber::backends::kubernetes {

namespace {

using nlohmann::json;

class RestrictedPods : public testing::Test {
protected:
  RestrictedPods() {
    plan_.session = "0123456789";
    plan_.image = "lab/program:1";
    plan_.template_pod = json::object();
  }
  /// Returns the spec of a worker whose template has these contexts.
  json spec(const json& of_pod = nullptr, const json& own = nullptr) {
    json made = json::object();
    if (!of_pod.is_null())
      made["securityContext"] = of_pod;
    if (!own.is_null())
      made["containers"] = {{{"name", "fiber"}, {"securityContext", own}}};
    plan_.template_pod["spec"] = made;
    return pod_body(plan_, job_, 7, nullptr)["spec"];
  }
  static json context(const json& spec) {
    return spec["containers"][0]["securityContext"];
  }
  static json keys(const json& spec) { return spec["volumes"][0]["secret"]; }

  Plan plan_;
  JobSpec job_ = BackendTest::spec("worker-1", "wait");
};

using Rules = std::vector<std::string>;

TEST_F(RestrictedPods, are_what_workers_and_the_anchor_are) {
  auto worker = spec();
  EXPECT_EQ(restricted_violations(worker), Rules());
  EXPECT_EQ(context(worker)["readOnlyRootFilesystem"], true);
  EXPECT_EQ(context(worker)["runAsUser"], 65532);
  EXPECT_EQ(worker["containers"][0]["volumeMounts"][1]["mountPath"], "/tmp");
  EXPECT_EQ(worker["containers"][0]["env"].back(),
            json::parse(R"({"name": "HOME", "value": "/tmp"})"));
  auto anchor = anchor_body(plan_, job_);
  EXPECT_EQ(restricted_violations(anchor["spec"]["template"]["spec"]), Rules());
  auto tried = anchor_pod(anchor);
  EXPECT_EQ(tried["spec"], anchor["spec"]["template"]["spec"]);
  EXPECT_EQ(tried["kind"], "Pod");
}

TEST_F(RestrictedPods, get_no_token_of_a_service_account) {
  // Jobs never ask the API server, even if the template gives them a token.
  plan_.template_pod["spec"] = {{"serviceAccountName", "mighty"},
                                {"automountServiceAccountToken", true}};
  for (bool restricted : {true, false}) {
    plan_.restricted = restricted;
    EXPECT_EQ(pod_body(plan_, job_, 7, nullptr)["spec"]["automountServiceAccountToken"],
              false);
    auto anchor = anchor_body(plan_, job_);
    EXPECT_EQ(anchor["spec"]["template"]["spec"]["automountServiceAccountToken"], false);
    EXPECT_EQ(anchor_pod(anchor)["spec"]["automountServiceAccountToken"], false);
  }
}

TEST_F(RestrictedPods, give_the_keys_to_their_group_only) {
  EXPECT_EQ(keys(spec())["defaultMode"], 0400);
  EXPECT_EQ(spec()["securityContext"]["fsGroup"], 65532);
  EXPECT_EQ(spec({{"runAsGroup", 7}})["securityContext"]["fsGroup"], 7);
  EXPECT_EQ(spec({{"fsGroup", 8}})["securityContext"]["fsGroup"], 8);
}

TEST_F(RestrictedPods, are_not_if_a_template_says_otherwise) {
  auto root = spec({{"runAsUser", 0}});
  EXPECT_FALSE(context(root).contains("runAsUser"));
  EXPECT_FALSE(context(root).contains("runAsNonRoot"));
  EXPECT_FALSE(root["securityContext"].contains("fsGroup"));
  EXPECT_EQ(keys(root)["defaultMode"], 0400);
  auto user = spec(nullptr, {{"runAsUser", 1000}, {"readOnlyRootFilesystem", false}});
  EXPECT_EQ(context(user)["runAsUser"], 1000);
  EXPECT_EQ(context(user)["runAsGroup"], 1000);
  EXPECT_EQ(context(user)["readOnlyRootFilesystem"], false);
  EXPECT_EQ(user["containers"][0]["volumeMounts"].size(), 1u);
  EXPECT_EQ(restricted_violations(user), Rules());
  auto mighty = spec(nullptr, {{"privileged", true}});
  EXPECT_FALSE(context(mighty).contains("allowPrivilegeEscalation"));
  EXPECT_FALSE(context(mighty).contains("capabilities"));
}

TEST_F(RestrictedPods, cannot_fill_the_disk_of_their_node_through_tmp) {
  auto made = spec();
  auto tmp = std::ranges::find_if(
    made["volumes"], [](auto& volume) { return volume["name"] == "fiber-tmp"; });
  ASSERT_NE(tmp, made["volumes"].end());
  EXPECT_EQ((*tmp)["emptyDir"]["sizeLimit"], "1Gi");
}

TEST_F(RestrictedPods, leave_other_containers_and_a_tmp_of_the_template_alone) {
  plan_.template_pod["spec"] = json::parse(R"({
    "volumes": [{"name": "scratch", "emptyDir": {}}],
    "containers": [{"name": "side", "image": "a"},
                   {"name": "fiber", "env": [{"name": "HOME", "value": "/home/me"}],
                    "volumeMounts": [{"name": "scratch", "mountPath": "/tmp/"}]}]})");
  auto made = pod_body(plan_, job_, 7, nullptr)["spec"];
  EXPECT_EQ(made["containers"][0], json::parse(R"({"name": "side", "image": "a"})"));
  EXPECT_EQ(made["containers"][1]["volumeMounts"].size(), 2u);
  EXPECT_EQ(made["volumes"].size(), 2u);
  EXPECT_EQ(made["containers"][1]["env"][0]["value"], "/home/me");
}

TEST_F(RestrictedPods, are_not_made_if_the_setting_says_none) {
  plan_.restricted = false;
  auto made = spec();
  EXPECT_FALSE(made.contains("securityContext"));
  EXPECT_FALSE(made["containers"][0].contains("securityContext"));
  EXPECT_EQ(keys(made)["defaultMode"], 0444); // The user may be any.
  EXPECT_EQ(keys(spec({{"fsGroup", 8}}))["defaultMode"], 0400);
}

TEST_F(RestrictedPods, do_no_harm_to_an_odd_template) {
  for (auto& odd : {json(7), json("x"), json::array()}) {
    EXPECT_NO_THROW(spec(odd, odd));
    plan_.template_pod["spec"] = {{"containers", odd}};
    EXPECT_NO_THROW(pod_body(plan_, job_, 7, nullptr));
  }
}

TEST_F(RestrictedPods, an_anchor_claims_no_device_and_is_not_tried_in_vain) {
  plan_.template_pod["spec"] = json::parse(R"({
    "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}],
    "containers": [{"name": "fiber", "resources": {"claims": [{"name": "gpu"}]}}]})");
  auto worker = pod_body(plan_, job_, 7, nullptr)["spec"];
  EXPECT_EQ(worker["resourceClaims"].size(), 1u);
  auto anchor = anchor_body(plan_, job_)["spec"];
  EXPECT_FALSE(anchor["template"]["spec"].contains("resourceClaims"));
  EXPECT_FALSE(
    anchor["template"]["spec"]["containers"][0]["resources"].contains("claims"));
  auto& rules = anchor["podFailurePolicy"]["rules"];
  EXPECT_EQ(rules[0]["action"], "Ignore"); // A lost node is no fault of the anchor.
  EXPECT_EQ(rules[1]["onExitCodes"]["values"], json::parse("[126, 127, 128]"));
}

TEST(SecurityAdvice, names_what_gives_a_right_that_was_lacking) {
  EXPECT_NE(advice("open /x: Read-only file system\n").find("readOnlyRootFilesystem"),
            std::string::npos);
  EXPECT_NE(advice("pods \"a\" is forbidden: violates PodSecurity \"restricted\"")
              .find("kubernetes_security=none"),
            std::string::npos);
  EXPECT_EQ(advice("division by zero"), "");
}

} // namespace

} // namespace fiber::backends::kubernetes
