// SPDX-License-Identifier: Apache-2.0
// The promise: the anchor owns all objects of a session, and ends after its driver.
#include "tests/backends/kubernetes/scripted_kubernetes.hpp"

namespace fiber::backends::kubernetes {

namespace {

using namespace std::chrono_literals;
using nlohmann::json;

TEST_F(ScriptedKubernetes, the_anchor_owns_all_and_is_removed_by_the_server) {
  start();
  test_->backend->anchor(BackendTest::spec("anchor", "wait"));
  auto pod = api_.object("pods", create_running("one"));
  auto job = api_.objects("jobs").begin()->second;
  EXPECT_EQ(job["spec"]["ttlSecondsAfterFinished"], 0);
  EXPECT_EQ(pod["metadata"]["ownerReferences"][0]["uid"], job["metadata"]["uid"]);
  EXPECT_EQ(pod["metadata"]["ownerReferences"][0]["kind"], "Job");
  EXPECT_FALSE(pod["spec"].contains("activeDeadlineSeconds"));
  EXPECT_EQ(api_.count("patch jobs"), 0u); // It has no company.
  EXPECT_FALSE(contains(job.dump(), "FIBER_ANCHOR_LINGER"));
  EXPECT_FALSE(heard_.has("ttlSecondsAfterFinished"));
}

TEST_F(ScriptedKubernetes, a_server_without_ttl_support_causes_a_warning) {
  for (bool refuses : {false, true}) {
    api_.drops_ttl = !refuses;
    api_.refuses_ttl = refuses;
    auto warned = heard_.count("ttlSecondsAfterFinished");
    start();
    test_->backend->anchor(BackendTest::spec("anchor", "wait"));
    EXPECT_EQ(heard_.count("ttlSecondsAfterFinished"), warned + 1);
    auto pod = api_.object("pods", create_running("one"));
    EXPECT_EQ(pod["spec"]["activeDeadlineSeconds"], 24 * 60 * 60);
    test_.reset();
    EXPECT_EQ(api_.objects("jobs").size(), 0u);
  }
}

TEST_F(ScriptedKubernetes, an_anchor_whose_reply_was_lost_is_recognized) {
  start();
  api_.spoil("create jobs", {.kind = Fault::Kind::reset_after});
  api_.spoil("create secrets", {.kind = Fault::Kind::reset_after});
  test_->backend->anchor(BackendTest::spec("anchor", "wait"));
  EXPECT_EQ(api_.objects("jobs").size(), 1u);
  stop();
  EXPECT_EQ(api_.objects("jobs").size(), 0u);
}

TEST_F(ScriptedKubernetes, an_anchor_that_cannot_be_examined_is_an_error) {
  start();
  api_.spoil("create jobs", {.kind = Fault::Kind::reset_after});
  api_.spoil("get jobs", {.status = 403, .body = forbidden("get", "jobs")});
  try {
    test_->backend->anchor(BackendTest::spec("anchor", "wait"));
    FAIL() << "it was made";
  } catch (const EngineError& error) {
    EXPECT_TRUE(contains(error.what(), "cannot get resource \"jobs\"")) << error.what();
  }
  EXPECT_EQ(api_.objects("jobs").size(), 0u);
}

/// What a dry run of a pod answers if a webhook adds a container.
constexpr auto in_company =
  R"({"kind": "Pod", "spec": {"containers": [{"name": "fiber"}, {"name": "proxy"}]}})";

int deadline_of(const json& job) {
  return job["spec"].value("activeDeadlineSeconds", 0);
}

TEST_F(ScriptedKubernetes, an_anchor_in_company_has_a_deadline_that_is_put_off) {
  options_.anchor_deadline = 2s;
  start();
  api_.spoil("try pods", {.status = 201, .body = in_company});
  api_.spoil("patch jobs", {.status = 503}, 1);
  test_->backend->anchor(BackendTest::spec("anchor", "wait"));
  EXPECT_GE(api_.wait_for("patch jobs", 12), 12u);
  auto job = api_.objects("jobs").begin()->second;
  EXPECT_GE(deadline_of(job), 4); // The age of the Job, and two seconds.
  EXPECT_LE(deadline_of(job), 60);
  EXPECT_TRUE(contains(job.dump(), R"({"name":"FIBER_ANCHOR_LINGER","value":"12"})"));
}

TEST_F(ScriptedKubernetes, an_anchor_in_company_without_a_deadline_causes_a_warning) {
  options_.anchor_deadline = 1s;
  start();
  api_.spoil("try pods", {.status = 201, .body = in_company});
  api_.spoil("patch jobs", {.status = 403, .body = forbidden("patch", "jobs")}, 1);
  test_->backend->anchor(BackendTest::spec("anchor", "wait"));
  EXPECT_TRUE(heard_.has("container proxy")) << heard_.text();
  EXPECT_TRUE(heard_.has("cannot patch resource \"jobs\"")) << heard_.text();
  EXPECT_TRUE(heard_.has("deploy/kubernetes/rbac.yaml")) << heard_.text();
  create_running("one");
  EXPECT_EQ(deadline_of(api_.objects("jobs").begin()->second), 0);
}

TEST_F(ScriptedKubernetes, an_anchor_has_a_deadline_if_a_webhook_refuses_to_say_more) {
  start();
  api_.spoil("try pods",
             {.status = 400,
              .body = R"({"message": "admission webhook x does not support dry run"})"});
  test_->backend->anchor(BackendTest::spec("anchor", "wait"));
  EXPECT_EQ(api_.count("patch jobs"), 1u);
}

TEST_F(ScriptedKubernetes, an_anchor_without_its_secret_is_removed) {
  start();
  api_.spoil("create secrets", {.status = 403, .body = forbidden("create", "secrets")});
  try {
    test_->backend->anchor(BackendTest::spec("anchor", "wait"));
    FAIL() << "it was made";
  } catch (const EngineError& error) {
    EXPECT_TRUE(contains(error.what(), "cannot create resource \"secrets\""))
      << error.what();
  }
  EXPECT_EQ(api_.objects("jobs").size(), 0u);
}

} // namespace

} // namespace fiber::backends::kubernetes
