// SPDX-License-Identifier: Apache-2.0
// The promise: the jobs of a driver in a pod have its image, its pull secrets and its
// security contexts, and they are removed with it.
#include "backends/kubernetes/own_pod.hpp"

#include <gtest/gtest.h>

namespace fiber::backends::kubernetes {

namespace {

using nlohmann::json;

const std::string pinned_image = "docker.io/lab/program@sha256:" + std::string(64, 'a');

json own_pod(const std::string& image_id = pinned_image) {
  return {
    {"metadata", {{"name", "driver"}, {"uid", "12-34"}}},
    {"spec",
     {{"imagePullSecrets", {{{"name", "lab"}}}},
      {"securityContext", {{"runAsUser", 1000}}},
      {"containers",
       {{{"name", "main"},
         {"image", "lab/program:1"},
         {"securityContext", {{"readOnlyRootFilesystem", true}}}}}}}},
    {"status", {{"containerStatuses", {{{"name", "main"}, {"imageID", image_id}}}}}}};
}

Plan plan_for(const std::string& image, json template_pod = json::object()) {
  Plan plan;
  plan.image = image;
  plan.template_pod = std::move(template_pod);
  return plan;
}

TEST(OwnPod, gives_jobs_the_image_that_the_driver_runs) {
  for (const auto* set : {"", "lab/program:1"}) {
    auto plan = plan_for(set);
    complete_by_own_pod(plan, own_pod());
    EXPECT_EQ(plan.image, pinned_image);
    EXPECT_TRUE(plan.own_image);
  }
}

TEST(OwnPod, gives_jobs_its_tag_if_the_image_was_imported) {
  auto plan = plan_for("");
  complete_by_own_pod(plan, own_pod("sha256:" + std::string(64, 'a')));
  EXPECT_EQ(plan.image, "lab/program:1");
  EXPECT_TRUE(plan.own_image);
}

TEST(OwnPod, leaves_another_image_that_is_set) {
  auto plan = plan_for("lab/other:1");
  complete_by_own_pod(plan, own_pod());
  EXPECT_EQ(plan.image, "lab/other:1");
  EXPECT_FALSE(plan.own_image);
}

TEST(OwnPod, owns_the_jobs_and_gives_them_its_secrets_and_contexts) {
  auto plan = plan_for("");
  complete_by_own_pod(plan, own_pod());
  EXPECT_EQ(plan.owner["uid"], "12-34");
  EXPECT_EQ(plan.owner["kind"], "Pod");
  auto& spec = plan.template_pod["spec"];
  EXPECT_EQ(spec["imagePullSecrets"], json::parse(R"([{"name": "lab"}])"));
  EXPECT_EQ(spec["securityContext"]["runAsUser"], 1000);
  EXPECT_EQ(spec["containers"][0]["name"], "fiber");
  EXPECT_EQ(spec["containers"][0]["securityContext"]["readOnlyRootFilesystem"], true);
}

TEST(OwnPod, gives_way_to_the_template) {
  auto plan = plan_for("", {{"spec", {{"securityContext", {{"runAsUser", 7}}}}}});
  complete_by_own_pod(plan, own_pod());
  EXPECT_EQ(plan.template_pod["spec"]["securityContext"]["runAsUser"], 7);
}

TEST(OwnPod, may_be_described_by_nonsense) {
  for (const auto& spec : {json(), json(7), json{{"containers", json::array()}},
                           json{{"containers", {7, "x"}}}}) {
    auto plan = plan_for("");
    complete_by_own_pod(plan, {{"metadata", {{"uid", "1"}}}, {"spec", spec}});
    EXPECT_EQ(plan.image, "");
  }
}

} // namespace

} // namespace fiber::backends::kubernetes
