// SPDX-License-Identifier: Apache-2.0
// The promise: a pod's object is read correctly, and any object without an exception.
#include "backends/kubernetes/pod_state.hpp"

#include <gtest/gtest.h>

#include <random>

#include "backends/http/client.hpp"
#include "backends/kubernetes/api.hpp"
#include "backends/kubernetes/quota.hpp"
#include "backends/kubernetes/reply_json.hpp"

namespace fiber::backends::kubernetes {

namespace {

using nlohmann::json;

/// Returns a pod whose container "fiber" is in this state.
json pod_in(const json& state, const json& status = json::object()) {
  json pod{{"metadata", {{"name", "p"}}},
           {"status",
            {{"phase", "Running"},
             {"containerStatuses",
              {{{"name", "sidecar"}, {"state", {{"terminated", {{"exitCode", 99}}}}}},
               {{"name", "fiber"}, {"state", state}}}}}}};
  pod["status"].merge_patch(status);
  return pod;
}

json terminated(const json& how) {
  return {{"terminated", how}};
}

json status_only(const json& status) {
  return {{"metadata", {{"name", "p"}}}, {"status", status}};
}

const json running{{"running", {{"startedAt", "2026-01-01T00:00:00Z"}}}};

TEST(PodState, a_pod_that_waits_has_not_started) {
  for (auto& pod :
       {json::object(), status_only({{"phase", "Pending"}}),
        pod_in({{"waiting", {{"reason", "ContainerCreating"}}}}, {{"phase", "Pending"}}),
        pod_in({{"waiting", {{"reason", "PodInitializing"}}}})}) {
    auto state = read_pod(pod, 0);
    EXPECT_FALSE(state.started);
    EXPECT_FALSE(state.exit);
    EXPECT_FALSE(state.disrupted);
    EXPECT_FALSE(state.never);
    EXPECT_EQ(state.waits_for, "");
  }
}

TEST(PodState, the_reason_to_wait_is_reported_in_the_clusters_words) {
  auto image =
    pod_in({{"waiting", {{"reason", "ErrImagePull"}, {"message", "no such host"}}}});
  EXPECT_EQ(read_pod(image, 0).waits_for, "ErrImagePull: no such host");
  EXPECT_FALSE(read_pod(image, 0).never);
  auto room = status_only({{"phase", "Pending"},
                           {"conditions",
                            {{{"type", "Initialized"}, {"status", "False"}},
                             {{"type", "PodScheduled"},
                              {"status", "False"},
                              {"reason", "Unschedulable"},
                              {"message", "0/2 nodes"}}}}});
  EXPECT_EQ(read_pod(room, 0).waits_for, "Unschedulable: 0/2 nodes");
  room["status"]["conditions"][1]["status"] = "True";
  EXPECT_EQ(read_pod(room, 0).waits_for, "");
}

using Wait = JobEvent::Wait;

TEST(PodState, a_pod_that_waits_for_a_node_is_in_a_queue) {
  auto without_node = [](const char* reason, const char* message) {
    return read_pod(status_only({{"phase", "Pending"},
                                 {"conditions",
                                  {{{"type", "PodScheduled"},
                                    {"status", "False"},
                                    {"reason", reason},
                                    {"message", message}}}}}),
                    0);
  };
  auto full =
    without_node("Unschedulable", "0/2 nodes are available: 2 Insufficient cpu.");
  EXPECT_EQ(full.wait, Wait::room);
  EXPECT_EQ(full.waits_for,
            "Unschedulable: 0/2 nodes are available: 2 Insufficient cpu.");
  EXPECT_EQ(without_node("SchedulingGated", "Scheduling is blocked").wait, Wait::room);
  EXPECT_EQ(without_node("SchedulerError", "internal").wait, Wait::blocked);
  EXPECT_EQ(
    without_node("Unschedulable", "persistentvolumeclaim \"data\" not found").wait,
    Wait::blocked); // It does not come by itself.
}

TEST(PodState, a_pod_whose_node_gets_its_image_waits_for_its_turn) {
  auto pod = pod_in({{"waiting", {{"reason", "ContainerCreating"}}}},
                    {{"conditions",
                      {{{"type", "PodScheduled"}, {"status", "True"}},
                       {{"type", "PodReadyToStartContainers"}, {"status", "True"}}}}});
  pod["spec"]["containers"] = {{{"name", "fiber"}, {"image", "lab/program:1"}}};
  EXPECT_EQ(read_pod(pod, 0).wait, Wait::turn);
  EXPECT_EQ(read_pod(pod, 0).waits_for, "the node gets image lab/program:1");
  pod["status"]["conditions"][1]["status"] = "False"; // Its network or a volume lacks.
  EXPECT_EQ(read_pod(pod, 0).wait, Wait::blocked);
  EXPECT_EQ(read_pod(pod, 0).waits_for, "");
  for (auto* reason :
       {"ErrImagePull", "ImagePullBackOff", "CreateContainerConfigError"}) {
    pod["status"]["conditions"][1]["status"] = "True";
    pod["status"]["containerStatuses"][1]["state"]["waiting"]["reason"] = reason;
    EXPECT_EQ(read_pod(pod, 0).wait, Wait::blocked) << reason;
  }
}

TEST(Quota, is_used_up_if_others_use_it) {
  auto refused = [](int status, const std::string& message) {
    http::Reply reply;
    reply.status = status;
    reply.body = json{{"message", message}}.dump();
    return is_used_up(reply);
  };
  const std::string begin = "pods \"p\" is forbidden: exceeded quota: small, requested: ";
  EXPECT_TRUE(refused(403, begin + "pods=1, used: pods=5, limited: pods=5"));
  EXPECT_TRUE(refused(403, begin + "cpu=1,pods=1, used: cpu=10,pods=5, limited: cpu=10"));
  // The pod alone is more than the quota.
  EXPECT_FALSE(refused(403, begin + "cpu=1, used: cpu=10m, limited: cpu=100m"));
  EXPECT_FALSE(refused(403, begin + "memory=2Gi, used: memory=1Mi, limited: memory=1G"));
  EXPECT_TRUE(refused(403, begin + "memory=1Gi, used: memory=1Mi, limited: memory=1Gi"));
  EXPECT_FALSE(
    refused(403, begin + "cpu=1,pods=1, used: cpu=0,pods=5, limited: cpu=100m,pods=5"));
  EXPECT_FALSE(refused(403, "pods is forbidden: User \"jane\" cannot create pods"));
  EXPECT_FALSE(refused(500, begin + "pods=1, used: pods=5, limited: pods=5"));
}

TEST(PodState, some_pods_never_start) {
  for (auto* reason : {"InvalidImageName", "ErrImageNeverPull"})
    EXPECT_TRUE(read_pod(pod_in({{"waiting", {{"reason", reason}}}}), 0).never) << reason;
  EXPECT_FALSE(
    read_pod(pod_in({{"waiting", {{"reason", "ImagePullBackOff"}}}}), 0).never);
}

TEST(PodState, a_pod_runs_when_its_container_does) {
  EXPECT_TRUE(read_pod(pod_in(running), 0).started);
  EXPECT_FALSE(read_pod(pod_in(running), 0).exit);
  EXPECT_FALSE(read_pod(pod_in({{"running", nullptr}}), 0).started);
  EXPECT_FALSE(
    read_pod(status_only({{"phase", "Running"}}), 0).started); // Only a sidecar runs.
}

TEST(PodState, an_end_is_reported_as_the_runtime_saw_it) {
  struct Case {
    json how;
    std::optional<int> code;
    std::string detail;
  };
  for (auto& [how, code, detail] : {
         Case{{{"exitCode", 0}}, 0, "exit code 0"},
         Case{{{"exitCode", 42}, {"reason", "Error"}}, 42, "exit code 42"},
         Case{{{"exitCode", 128}}, 128, "exit code 128"},
         Case{{{"exitCode", 137}}, -9, "killed by SIGKILL"},
         Case{{{"exitCode", 143}}, -15, "killed by SIGTERM"},
         Case{{{"exitCode", 192}}, -64, "killed by signal 64"},
         Case{{{"exitCode", 193}}, 193, "exit code 193"},
         Case{{{"exitCode", 255}}, 255, "exit code 255"},
         Case{{{"exitCode", 1}, {"signal", 11}}, -11, "killed by SIGSEGV"},
         Case{{{"exitCode", 1}, {"signal", -11}}, 1, "exit code 1"},
         Case{
           {{"exitCode", 137}, {"reason", "OOMKilled"}}, -9, "OOMKilled, limit 512 MiB"},
         Case{{{"exitCode", 128}, {"reason", "StartError"}, {"message", "no such file"}},
              128,
              "StartError: no such file"},
         Case{{{"exitCode", 127}, {"reason", "ContainerCannotRun"}},
              127,
              "ContainerCannotRun"},
         Case{{{"exitCode", "1"}, {"reason", "Error"}}, {}, "exit unknown (Error)"},
         Case{{{"exitCode", 1e300}}, {}, "exit unknown (not told)"},
         Case{{{"exitCode", 18446744073709551615u}}, {}, "exit unknown (not told)"},
         Case{{{"exitCode", -2147483648LL}}, {}, "exit unknown (not told)"},
         Case{json::object(), {}, "exit unknown (not told)"},
       }) {
    auto state = read_pod(pod_in(terminated(how)), 512);
    ASSERT_TRUE(state.exit) << how;
    EXPECT_TRUE(state.started && state.seen) << how;
    EXPECT_EQ(state.exit->code, code) << how;
    EXPECT_EQ(state.exit->detail, detail) << how;
  }
  auto unlimited =
    read_pod(pod_in(terminated({{"exitCode", 137}, {"reason", "OOMKilled"}})), 0);
  EXPECT_EQ(unlimited.exit->detail, "OOMKilled");
}

TEST(PodState, an_end_that_no_kubelet_saw_is_unknown) {
  auto evicted = read_pod(
    status_only({{"phase", "Failed"}, {"reason", "Evicted"}, {"message", "low on disk"}}),
    0);
  EXPECT_TRUE(evicted.disrupted);
  EXPECT_EQ(evicted.exit->code, std::nullopt);
  EXPECT_FALSE(evicted.seen);
  EXPECT_TRUE(evicted.exit->detail.starts_with("exit unknown (Evicted: low on disk)"));
  EXPECT_EQ(read_pod(status_only({{"phase", "Succeeded"}}), 0).exit->detail,
            "exit unknown (Succeeded)");
  auto lost =
    pod_in(terminated({{"exitCode", 137}, {"reason", "ContainerStatusUnknown"}}));
  EXPECT_FALSE(read_pod(lost, 0).exit);
  EXPECT_TRUE(read_pod(lost, 0).started);
  lost["status"]["phase"] = "Failed";
  EXPECT_EQ(read_pod(lost, 0).exit->code, std::nullopt);
}

TEST(PodState, removal_by_others_is_a_disruption) {
  auto deleted = pod_in(running);
  deleted["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  EXPECT_TRUE(read_pod(deleted, 0).disrupted);
  for (auto* reason :
       {"Evicted", "Preempting", "Shutdown", "NodeShutdown", "NodeLost", "Terminated"})
    EXPECT_TRUE(read_pod(pod_in(running, {{"reason", reason}}), 0).disrupted) << reason;
  for (auto* reason : {"DeadlineExceeded", "OutOfcpu", ""})
    EXPECT_FALSE(read_pod(pod_in(running, {{"reason", reason}}), 0).disrupted) << reason;
  json condition{{"type", "DisruptionTarget"}, {"status", "True"}};
  EXPECT_TRUE(read_pod(pod_in(running, {{"conditions", {condition}}}), 0).disrupted);
  condition["status"] = "False";
  EXPECT_FALSE(read_pod(pod_in(running, {{"conditions", {condition}}}), 0).disrupted);
}

TEST(PodState, a_disruption_is_part_of_the_detail) {
  auto pod = pod_in(terminated({{"exitCode", 143}}),
                    {{"reason", "Evicted"}, {"message", "low on memory"}});
  EXPECT_EQ(read_pod(pod, 0).exit->detail, "killed by SIGTERM (Evicted: low on memory)");
}

// -- whatever comes ---------------------------------------------------------------------

const std::vector<json> odd{nullptr,
                            true,
                            7,
                            -1,
                            1e300,
                            18446744073709551615u,
                            "",
                            "x",
                            json::array(),
                            json::object(),
                            {1, nullptr, "x"},
                            {{"name", "fiber"}},
                            {{{"name", "fiber"}}}};

/// Returns all positions in `object`, including itself.
void collect(json& object, std::vector<json*>& places) {
  places.push_back(&object);
  if (object.is_structured())
    for (auto& each : object)
      collect(each, places);
}

TEST(PodState, no_object_makes_read_pod_throw) {
  std::vector<json> pods{
    pod_in(running, {{"reason", "Evicted"},
                     {"conditions", {{{"type", "PodScheduled"}, {"status", "False"}}}}}),
    pod_in(terminated({{"exitCode", 137}, {"signal", 9}, {"reason", "OOMKilled"}}),
           {{"conditions", {{{"type", "DisruptionTarget"}, {"status", "True"}}}}}),
    pod_in({{"waiting", {{"reason", "ErrImagePull"}, {"message", "no"}}}})};
  std::minstd_rand random(1);
  for (auto& original : pods) {
    std::vector<json*> all;
    auto counted = original;
    collect(counted, all);
    for (std::size_t place = 0; place < all.size(); ++place)
      for (auto& value : odd) {
        auto pod = original;
        std::vector<json*> places;
        collect(pod, places);
        *places[place] = value;
        EXPECT_NO_THROW(read_pod(pod, 1)) << pod;
      }
    for (int round = 0; round < 2000; ++round) {
      auto pod = original;
      for (int changes = 0; changes < 3; ++changes) {
        std::vector<json*> places;
        collect(pod, places);
        *places[random() % places.size()] = odd[random() % odd.size()];
      }
      EXPECT_NO_THROW(read_pod(pod, 1)) << pod;
    }
  }
}

TEST(ReplyJson, missing_members_and_other_types_read_as_empty) {
  json object{{"a", {{"b", "text"}, {"c", 7}}}};
  EXPECT_EQ(text(object, "a", "b"), "text");
  EXPECT_EQ(text(object, "a", "c"), "");
  EXPECT_EQ(text(object, "a", "b", "c"), "");
  EXPECT_EQ(text(object, "x", "y"), "");
  EXPECT_EQ(part(object, "a", "c"), 7);
  EXPECT_TRUE(part(object, "x").is_null());
  EXPECT_TRUE(parse_reply("{").is_null());
  EXPECT_TRUE(parse_reply("").is_null());
  EXPECT_EQ(parse_reply("[1]").size(), 1u);
}

TEST(Replies, a_problem_is_reported_in_the_servers_words) {
  auto told = [](int status, const std::string& body) {
    return problem({.status = status, .body = body});
  };
  EXPECT_EQ(told(422, R"({"message": "no room"})"), "no room");
  EXPECT_EQ(told(500, R"({"message": 7})"), "HTTP status 500");
  EXPECT_EQ(told(500, "[]"), "[]");
  EXPECT_EQ(told(502, "Bad Gateway"), "Bad Gateway");
  EXPECT_EQ(told(503, ""), "HTTP status 503");
  EXPECT_EQ(told(500, std::string(2000, 'x')).size(), 500u);
  EXPECT_EQ(problem({.status = 0, .error = "timed out"}), "timed out");
}

TEST(Replies, the_pause_before_a_retry_grows_up_to_a_limit) {
  using std::chrono::milliseconds;
  http::Reply reply;
  for (int i = 0; i < 100; ++i) {
    EXPECT_GE(pause_before(0, reply), milliseconds(100));
    EXPECT_LE(pause_before(0, reply), milliseconds(200));
    EXPECT_GE(pause_before(1000000, reply), milliseconds(5000));
    EXPECT_LE(pause_before(1000000, reply), milliseconds(10000));
  }
  for (auto& [asked, least] : std::map<std::string, int>{
         {"3", 3}, {"0", 0}, {"-5", 0}, {"1000000", 60}, {"soon", 0}}) {
    reply.headers["retry-after"] = asked;
    EXPECT_GE(pause_before(0, reply), std::chrono::seconds(least)) << asked;
    EXPECT_LE(pause_before(0, reply), std::chrono::seconds(least + 1)) << asked;
  }
}

} // namespace

} // namespace fiber::backends::kubernetes
