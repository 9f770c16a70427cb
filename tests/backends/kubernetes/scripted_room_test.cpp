// SPDX-License-Identifier: Apache-2.0
// The promise: pods without room, and pods that have not their turn, wait and say so.
#include "tests/backends/kubernetes/scripted_kubernetes.hpp"

namespace fiber::backends::kubernetes {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Event = JobEvent::Kind;

constexpr auto used_up =
  R"({"message": "pods \"p\" is forbidden: exceeded quota: small, requested: pods=1, )"
  R"(used: pods=5, limited: pods=5"})";

TEST_F(ScriptedKubernetes, a_pod_waits_while_a_quota_is_used_up) {
  start();
  api_.spoil("create pods", {.status = 403, .body = used_up}, 3);
  create_running("one");
  EXPECT_EQ(api_.count("create pods"), 4u);
  auto words = test_->events.waits("one");
  ASSERT_FALSE(words.empty());
  EXPECT_TRUE(contains(words.front(), "exceeded quota: small")) << words.front();
  EXPECT_EQ(words.back(), "");
}

TEST_F(ScriptedKubernetes, pods_without_room_are_tried_one_at_a_time) {
  start();
  auto begin = Clock::now();
  api_.spoil("create pods", {.status = 403, .body = used_up}, ScriptedApi::always);
  for (int i = 0; i < 40; ++i)
    create("job-" + std::to_string(i));
  auto tried = api_.wait_for("create pods", 19); // 16 at first.
  EXPECT_LE(tried, 20u);
  EXPECT_GE(Clock::now() - begin, 300ms); // Between the last three.
  auto words = test_->events.waits("job-39");
  ASSERT_FALSE(words.empty());
  EXPECT_TRUE(contains(words.back(), "exceeded quota: small")) << words.back();
}

TEST_F(ScriptedKubernetes, a_pod_without_room_ends_at_once) {
  start();
  api_.spoil("create pods", {.status = 403, .body = used_up}, ScriptedApi::always);
  create("one");
  api_.wait_for("create pods", 1);
  test_->backend->terminate("one", 0ms);
  EXPECT_EQ(last("one").kind, Event::failed);
  EXPECT_TRUE(contains(last("one").detail, "exceeded quota")) << last("one").detail;
  EXPECT_TRUE(api_.objects("pods").empty());
}

TEST_F(ScriptedKubernetes, a_pod_that_has_not_its_turn_says_so) {
  std::promise<void> release;
  start();
  api_.spoil("create secrets",
             {.kind = Fault::Kind::late, .release = release.get_future().share()},
             ScriptedApi::always);
  for (int i = 0; i < 20; ++i)
    create("job-" + std::to_string(i));
  api_.wait_for("create secrets", 16);
  EXPECT_EQ(test_->events.waits("job-19").size(), 1u);
  release.set_value();
  EXPECT_EQ(test_->events.started("job-19"), 0);
  EXPECT_EQ(test_->events.waits("job-19").back(), "");
}

} // namespace

} // namespace fiber::backends::kubernetes
