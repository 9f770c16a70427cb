// SPDX-License-Identifier: Apache-2.0
// The promise: however a watch breaks, no event of a pod is lost or repeated.
#include "tests/backends/kubernetes/scripted_kubernetes.hpp"

#include <chrono>

#include "backends/kubernetes/manifests.hpp"
#include "backends/kubernetes/pod_watch.hpp"

namespace fiber::backends::kubernetes {

namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Event = JobEvent::Kind;

class Watches : public ScriptedKubernetes {
protected:
  /// Parameters of the last watch.
  std::string asked_from() {
    return api_.seen("watch pods").back().query["resourceVersion"];
  }
  std::string version_of(const std::string& pod) {
    return api_.object("pods", pod)["metadata"]["resourceVersion"];
  }
};

TEST_F(Watches, a_watch_continues_where_it_ended) {
  start();
  auto pod = create_running("one");
  auto version = version_of(pod);
  auto watches = api_.wait_for("watch pods", 1);
  api_.end_watches(R"({"type": "MODIFIED", "object": {"metadata": {"na)");
  api_.wait_for("watch pods", watches + 1);
  EXPECT_EQ(asked_from(), version);
  api_.end(pod, 3);
  EXPECT_EQ(last("one").exit_code, 3);
  stop();
  EXPECT_EQ(test_->events.of("one").size(), 2u);
  // One to check the server, one before the watch.
  EXPECT_EQ(api_.count("list pods"), 2u);
}

TEST_F(Watches, a_watch_continues_at_a_bookmark) {
  start();
  auto pod = create_running("one");
  std::uint64_t version = std::stoull(version_of(pod));
  auto watches = api_.wait_for("watch pods", 1);
  api_.bookmark();
  api_.end_watches();
  api_.wait_for("watch pods", watches + 1);
  EXPECT_EQ(std::stoull(asked_from()), version + 1);
}

TEST_F(Watches, events_between_two_watches_are_reported_by_the_next) {
  start();
  auto ends = create_running("ends"), goes = create_running("goes");
  auto watches = api_.wait_for("watch pods", 1);
  api_.spoil("watch pods", {.status = 500});
  api_.spoil("watch pods", {.kind = Fault::Kind::reset});
  api_.end_watches();
  api_.wait_for("watch pods", watches + 1);
  api_.end(ends, 4);
  api_.remove(goes);
  EXPECT_EQ(last("ends").exit_code, 4);
  EXPECT_EQ(last("goes").kind, Event::ended);
  EXPECT_FALSE(last("goes").confirmed);
}

TEST_F(Watches, a_server_that_lost_events_is_asked_for_a_list) {
  start();
  auto ends = create_running("ends"), goes = create_running("goes");
  create_running("stays");
  auto watches = api_.wait_for("watch pods", 1), lists = api_.count("list pods");
  api_.spoil("watch pods", {.status = 500}, 2);
  api_.end_watches();
  api_.wait_for("watch pods", watches + 1);
  api_.end(ends, 4);
  api_.remove(goes);
  api_.forget(); // The next watch gets 410.
  EXPECT_EQ(last("ends").exit_code, 4);
  EXPECT_EQ(last("goes").kind, Event::ended);
  EXPECT_FALSE(last("goes").confirmed);
  EXPECT_GT(api_.count("list pods"), lists);
  auto late = create_running("late");
  api_.end(late, 5);
  EXPECT_EQ(last("late").exit_code, 5);
  EXPECT_TRUE(only_started("stays"));
}

TEST_F(Watches, a_server_may_lose_events_during_a_watch) {
  start();
  auto pod = create_running("one");
  auto lists = api_.count("list pods");
  api_.forget(); // The watch gets the error.
  EXPECT_EQ(api_.wait_for("list pods", lists + 1), lists + 1);
  api_.end(pod, 3);
  EXPECT_EQ(last("one").exit_code, 3);
  EXPECT_EQ(test_->events.of("one").size(), 2u);
}

TEST_F(Watches, a_pod_that_waits_says_why_until_it_starts) {
  api_.plays_kubelet = false;
  start();
  create("one");
  auto pod = api_.pod_of("one");
  std::vector<std::string> expected;
  auto waits = [&](const json& status, const std::string& words) {
    expected.push_back(words);
    api_.change(pod, {{"status", status}});
    EXPECT_TRUE(eventually([&] { return test_->events.waits("one") == expected; }))
      << words;
  };
  auto scheduled = [](json condition) {
    condition["type"] = "PodScheduled";
    return json{{"conditions", json::array({condition})}};
  };
  waits(scheduled(
          {{"status", "False"}, {"reason", "Unschedulable"}, {"message", "0/2 nodes"}}),
        "Unschedulable: 0/2 nodes");
  api_.change(pod, {{"metadata", {{"labels", {{"of", "others"}}}}}}); // Says nothing new.
  waits(scheduled({{"status", "True"}}), "");
  json container{{"name", "fiber"},
                 {"state", {{"waiting", {{"reason", "ImagePullBackOff"}}}}}};
  waits({{"containerStatuses", json::array({container})}}, "ImagePullBackOff");
  api_.plays_kubelet = true;
  api_.run(pod);
  EXPECT_EQ(test_->events.started("one"), 0);
  EXPECT_TRUE(only_started("one"));
  EXPECT_EQ(test_->events.waits("one"), expected);
}

TEST_F(Watches, a_pod_that_vanished_before_it_was_seen_to_run_may_have_run) {
  api_.plays_kubelet = false;
  start();
  create("one");
  auto pod = api_.pod_of("one");
  create("two"); // Its reply comes after the first one's, which is then known.
  api_.pod_of("two");
  auto watches = api_.wait_for("watch pods", 1);
  api_.spoil("watch pods", {.status = 500}, 2);
  api_.end_watches();
  api_.wait_for("watch pods", watches + 1);
  api_.remove(pod);
  api_.forget();
  auto event = last("one");
  EXPECT_EQ(event.kind, Event::ended);
  EXPECT_FALSE(event.confirmed);
  EXPECT_EQ(event.exit_code, std::nullopt);
  api_.plays_kubelet = true;
}

TEST_F(Watches, a_pod_with_the_same_name_and_another_uid_is_another_pod) {
  start();
  auto pod = create_running("one");
  auto lists = api_.count("list pods");
  api_.replace(pod, false);
  api_.forget();
  api_.end_watches();
  auto event = last("one");
  EXPECT_EQ(event.kind, Event::ended);
  EXPECT_FALSE(event.confirmed);
  EXPECT_EQ(event.detail,
            "exit unknown (the pod is gone, there is another one by its name)");
  EXPECT_GT(api_.count("list pods"), lists);
  EXPECT_GE(api_.wait_for("delete pods", 1), 1u);
  create_running("two"); // Its reply comes after that of the delete.
  EXPECT_TRUE(api_.objects("pods").contains(pod));
}

TEST_F(Watches, the_log_of_a_replacement_is_not_taken_for_the_deleted_pods) {
  start();
  auto pod = create_running("one");
  auto logs = api_.wait_for("get pods/log", 1);
  api_.replace(pod, true);
  auto event = last("one");
  EXPECT_EQ(event.kind, Event::ended);
  EXPECT_EQ(event.detail, "exit unknown (the pod was deleted)");
  EXPECT_EQ(api_.count("get pods/log"), logs);
}

TEST_F(Watches, a_pod_created_during_a_list_request_is_not_taken_for_gone) {
  start();
  create_running("one");
  std::promise<void> release;
  auto lists = api_.count("list pods");
  api_.spoil("list pods", {.kind = Fault::Kind::late, .release = release.get_future()});
  api_.forget();
  api_.wait_for("list pods", lists + 1);
  api_.spoil("watch pods", {.status = 500}); // So that a wrong end would come first.
  create("two");
  api_.pod_of("two");
  create("three");
  api_.pod_of("three");
  EXPECT_TRUE(eventually([&] { return test_->backend->list().size() == 3; }));
  release.set_value();
  EXPECT_EQ(test_->events.started("two"), 0);
  EXPECT_EQ(test_->events.started("three"), 0);
  for (auto* job : {"one", "two", "three"})
    EXPECT_TRUE(only_started(job)) << job;
}

TEST_F(Watches, a_server_that_always_loses_events_is_asked_with_backoff) {
  api_.spoil("watch pods", {.status = 410}, ScriptedApi::always);
  auto begin = Clock::now();
  start();
  // Includes the one that checks the server.
  EXPECT_GE(api_.wait_for("list pods", 5), 5u);
  EXPECT_GE(Clock::now() - begin, milliseconds(600));
}

TEST_F(Watches, a_forbidden_watch_is_reported) {
  api_.spoil("watch pods",
             {.status = 403,
              .body = R"({"message": "pods is forbidden: jane cannot watch pods"})"},
             3);
  start();
  EXPECT_TRUE(eventually([&] { return heard_.has("cannot watch pods"); }));
  create_running("one"); // Works as soon as watching is allowed.
  EXPECT_EQ(heard_.count("cannot watch pods"), 1u);
}

TEST_F(Watches, senseless_events_are_ignored) {
  start();
  auto pod = create_running("one");
  std::string odd;
  for (auto* line :
       {"", "\"", "7", "[]", "{}", "null", R"({"type": 7, "object": {}})",
        R"({"type": "MODIFIED"})", R"({"type": "MODIFIED", "object": []})",
        R"({"type": "MODIFIED", "object": {"metadata": 7}})",
        R"({"type": "MODIFIED", "object": {"metadata": {"name": 7}}})",
        R"({"type": "MODIFIED", "object": {"metadata": {"resourceVersion": {}}}})",
        R"({"type": "DELETED", "object": {"metadata": {"name": []}}})",
        R"({"type": "ERROR", "object": {"code": "410"}})",
        R"({"type": "ERROR", "object": {"code": 500}})"})
    odd += std::string(line) + "\n";
  auto watches = api_.wait_for("watch pods", 1);
  api_.end_watches(odd);
  api_.wait_for("watch pods", watches + 1);
  api_.spoil(
    "list pods",
    {.status = 200, .body = R"({"items": {}, "metadata": {"resourceVersion": "1"}})"});
  api_.spoil("list pods", {.status = 200, .body = R"({"items": [], "metadata": []})"});
  api_.spoil("list pods", {.status = 200, .body = "<html>"});
  auto lists = api_.count("list pods");
  api_.forget();
  api_.wait_for("list pods", lists + 4);
  api_.end(pod, 3);
  EXPECT_EQ(last("one").exit_code, 3);
  EXPECT_EQ(test_->events.of("one").size(), 2u);
}

TEST_F(Watches, a_list_may_have_odd_items) {
  start();
  auto pod = create_running("one");
  auto list = json{{"metadata", {{"resourceVersion", "1"}}},
                   {"items",
                    {nullptr,
                     7,
                     json::object(),
                     {{"metadata", {{"name", 7}}}},
                     api_.object("pods", pod)}}};
  api_.spoil("list pods", {.status = 200, .body = list.dump()});
  api_.forget();
  auto late = create_running("late");
  EXPECT_TRUE(only_started("one"));
}

TEST_F(Watches, a_silent_watch_is_given_up) {
  Loop loop;
  Api api(loop, options_.access);
  std::mutex mutex;
  std::string heard;
  auto note = [&](const json& pod) {
    std::lock_guard lock(mutex);
    heard = pod["metadata"].value("name", "");
  };
  PodWatch watch(
    loop, api, std::string(component_label) + "=" + worker,
    {.changed = note, .deleted = note, .listed = [](auto&) {}, .listing = [] {}},
    milliseconds(1000));
  loop.post([&] { watch.start(); });
  api_.wait_for("watch pods", 1);
  api_.mute_watches();
  auto reply = api.call(json_request(
    "POST", api.path("pods"),
    {{"metadata", {{"name", "a-pod"}, {"labels", {{component_label, worker}}}}}}));
  EXPECT_TRUE(reply.ok()) << problem(reply);
  EXPECT_TRUE(eventually([&] {
    std::lock_guard lock(mutex);
    return heard == "a-pod";
  }));
  EXPECT_EQ(api_.count("watch pods"), 2u);
  api.close();
  loop.stop();
}

} // namespace

} // namespace fiber::backends::kubernetes
