// SPDX-License-Identifier: Apache-2.0
// The promise: whatever an API server does to requests, each job is one pod and ends
// once.
#include "tests/backends/kubernetes/scripted_kubernetes.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace fiber::backends::kubernetes {

namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Event = JobEvent::Kind;

// -- create -----------------------------------------------------------------------------

TEST_F(ScriptedKubernetes, a_session_leaves_nothing_behind) {
  start();
  test_->backend->anchor(BackendTest::spec("anchor", "wait"));
  create_running("one");
  create_running("two");
  EXPECT_EQ(api_.objects("jobs").size(), 1u);
  EXPECT_EQ(api_.objects("secrets").size(), 3u); // One for each pod.
  stop();
  for (auto* kind : {"pods", "jobs", "secrets"})
    EXPECT_EQ(api_.objects(kind).size(), 0u) << kind;
  EXPECT_EQ(api_.count("deletecollection pods"), 1u);
  EXPECT_EQ(last("one").kind, Event::ended);
  EXPECT_EQ(last("two").kind, Event::ended);
  EXPECT_FALSE(last("one").disrupted);
}

TEST_F(ScriptedKubernetes, many_pods_get_descriptors_under_a_low_soft_limit) {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit few{256, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &few);
  auto soft_limit = [] {
    rlimit now{};
    ::getrlimit(RLIMIT_NOFILE, &now);
    return now.rlim_cur;
  };
  start();
  EXPECT_EQ(soft_limit(), 256U);
  for (int i = 0; i < 60; ++i)
    create("job-" + std::to_string(i));
  EXPECT_EQ(soft_limit(), before.rlim_max);
  stop();
  EXPECT_EQ(soft_limit(), 256U);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST_F(ScriptedKubernetes, the_secret_of_a_pod_goes_when_its_process_ends) {
  start();
  test_->backend->anchor(BackendTest::spec("anchor", "wait"));
  auto pod = create_running("one");
  EXPECT_EQ(api_.objects("secrets").size(), 2u);
  api_.end(pod, 0);
  EXPECT_EQ(last("one").kind, Event::ended);
  api_.wait_for("delete secrets", 1);
  EXPECT_EQ(api_.objects("secrets").size(), 1u);
}

TEST_F(ScriptedKubernetes, a_pod_whose_secret_was_made_before_the_reply_was_lost_starts) {
  start();
  api_.spoil("create secrets", {.kind = Fault::Kind::reset_after});
  create_running("one");
  EXPECT_EQ(api_.objects("secrets").size(), 1u);
}

TEST_F(ScriptedKubernetes, a_pod_without_its_secret_is_not_made) {
  start();
  api_.spoil("create secrets", {.status = 403, .body = forbidden("create", "secrets")});
  test_->backend->create(BackendTest::spec("one", "wait"));
  EXPECT_EQ(last("one").kind, Event::failed);
  EXPECT_TRUE(contains(last("one").detail, "cannot create resource \"secrets\""));
  EXPECT_EQ(api_.count("create pods"), 0u);
}

TEST_F(ScriptedKubernetes, retry_after_is_respected) {
  start();
  api_.spoil("create pods", {.status = 429, .headers = {{"Retry-After", "1"}}});
  auto begin = Clock::now();
  create_running("one");
  EXPECT_GE(Clock::now() - begin, 1s);
  EXPECT_EQ(api_.count("create pods"), 2u);
}

TEST_F(ScriptedKubernetes, the_creation_of_a_pod_is_retried_while_the_server_fails) {
  start();
  api_.spoil("create pods", {.status = 503});
  api_.spoil("create pods", {.kind = Fault::Kind::reset});
  api_.spoil("create pods", {.status = 500, .body = R"({"message": 7})"});
  create_running("one");
  EXPECT_GE(api_.count("create pods"), 4u); // libcurl itself retries once.
  EXPECT_EQ(api_.objects("pods").size(), 1u);
}

TEST_F(ScriptedKubernetes, a_pod_whose_reply_was_lost_is_recognized) {
  // Otherwise the watch would report the pod.
  api_.spoil("watch pods", {.status = 500}, 3);
  start();
  api_.spoil("create pods", {.kind = Fault::Kind::reset_after});
  create_running("one");
  EXPECT_EQ(api_.objects("pods").size(), 1u);
  EXPECT_EQ(api_.count("get pods"), 1u);
  EXPECT_EQ(test_->events.of("one").size(), 1u);
}

TEST_F(ScriptedKubernetes, the_watch_may_report_a_pod_before_the_reply_to_its_creation) {
  start();
  create_running("zero");
  api_.spoil("create pods", {.kind = Fault::Kind::reset_after});
  auto pod = create_running("one");
  api_.end(pod, 3);
  EXPECT_EQ(last("one").exit_code, 3);
  stop();
  EXPECT_EQ(test_->events.of("one").size(), 2u);
}

TEST_F(ScriptedKubernetes, a_pod_of_others_is_left_alone) {
  start();
  api_.spoil("create pods", {.status = 409});
  api_.spoil("get pods", {.status = 200, .body = R"({"metadata": {"name": "x"}})"});
  create("one");
  auto event = last("one");
  EXPECT_EQ(event.kind, Event::failed);
  EXPECT_EQ(event.status, 409);
  EXPECT_EQ(api_.count("delete pods"), 0u);
}

TEST_F(ScriptedKubernetes, a_pod_that_is_refused_fails_in_the_servers_words) {
  start();
  api_.spoil("create pods", {.status = 403, .body = forbidden("create", "pods")});
  create("one");
  auto event = last("one");
  EXPECT_EQ(event.kind, Event::failed);
  EXPECT_EQ(event.status, 403);
  EXPECT_TRUE(contains(event.detail, "cannot create resource \"pods\"")) << event.detail;
  EXPECT_TRUE(contains(event.detail, "deploy/kubernetes/rbac.yaml")) << event.detail;
}

TEST_F(ScriptedKubernetes, a_conflict_that_cannot_be_examined_fails) {
  start();
  api_.spoil("create pods", {.status = 409});
  api_.spoil("get pods", {.status = 403, .body = forbidden("get", "pods")});
  create("one");
  EXPECT_TRUE(contains(last("one").detail, "cannot get resource")) << last("one").detail;
}

TEST_F(ScriptedKubernetes, only_the_job_with_invalid_utf_8_fails) {
  start();
  auto spec = BackendTest::spec("one", "wait");
  spec.environment["ODD"] = "\xff\xfe";
  test_->backend->create(std::move(spec));
  EXPECT_EQ(last("one").kind, Event::failed);
  create_running("two");
}

TEST_F(ScriptedKubernetes, jobs_that_wait_for_their_turn_end_at_once) {
  start();
  api_.plays_kubelet = false;
  constexpr std::size_t count = 2000; // Their creation would take 40 s.
  for (std::size_t i = 0; i < count; ++i)
    create("job-" + std::to_string(i));
  api_.plays_kubelet = true;
  stop();
  EXPECT_EQ(test_->events.count(Event::ended) + test_->events.count(Event::failed),
            count);
  EXPECT_LT(api_.count("create pods"), count);
  EXPECT_EQ(api_.objects("pods").size(), 0u);
}

TEST_F(ScriptedKubernetes, many_pods_take_few_connections) {
  api_.plays_kubelet = false; // Without multiplexing each log needs a connection.
  start();
  constexpr std::size_t count = 100;
  for (std::size_t i = 0; i < count; ++i)
    create("job-" + std::to_string(i));
  EXPECT_EQ(api_.wait_for("create pods", count), count);
  EXPECT_LE(api_.handshakes(), 30u); // About one for each concurrent creation.
  api_.plays_kubelet = true;
}

// -- who and where ----------------------------------------------------------------------

TEST_F(ScriptedKubernetes, a_replaced_token_is_read_again) {
  options_.access.identity.token_file = write("token", "one");
  api_.accept_only("one");
  start();
  create_running("first");
  api_.accept_only("two");
  write("token", "two");
  create_running("second");
  api_.end_watches();
  api_.end(api_.pod_of("first"), 0);
  EXPECT_EQ(last("first").exit_code, 0);
}

TEST_F(ScriptedKubernetes, a_token_that_stays_rejected_is_an_error) {
  api_.accept_only("another");
  try {
    start();
    FAIL() << "it was taken";
  } catch (const EngineError& error) {
    EXPECT_EQ(error.status(), 401);
    EXPECT_TRUE(contains(error.what(), "the token or certificate is not valid here"))
      << error.what();
    EXPECT_FALSE(contains(error.what(), "sesame")) << error.what();
  }
}

TEST_F(ScriptedKubernetes, a_configured_proxy_is_used) {
  options_.access.endpoint.proxy = "http://127.0.0.1:" + std::to_string(api_.port());
  options_.access.endpoint.url = "https://kubernetes.test";
  start();
  create_running("one");
  for (auto& request : api_.seen("create pods")) {
    EXPECT_TRUE(request.proxied);
    EXPECT_EQ(request.server_name, "kubernetes.test");
  }
}

TEST_F(ScriptedKubernetes, the_server_may_have_another_name) {
  options_.access.endpoint.server_name = "kubernetes.test";
  start();
  EXPECT_EQ(api_.seen("list pods").front().server_name, "kubernetes.test");
  test_.reset();
  options_.access.endpoint.server_name = "wrong.test";
  EXPECT_THROW(start(), EngineError);
}

TEST_F(ScriptedKubernetes, every_request_has_the_impersonation_headers) {
  options_.access.identity.impersonation = {"Impersonate-User: jane"};
  start();
  create_running("one");
  for (auto* name : {"list pods", "create pods", "watch pods", "get pods/log"})
    for (auto& request : api_.seen(name)) {
      EXPECT_EQ(request.headers.at("impersonate-user"), "jane") << name;
      EXPECT_EQ(request.headers.at("authorization"), "Bearer sesame") << name;
    }
}

TEST_F(ScriptedKubernetes, a_server_whose_clock_is_wrong_does_no_harm) {
  for (std::string year : {"1970", "2100"}) {
    api_.set_date("Thu, 01 Jan " + year + " 00:00:00 GMT");
    start();
    api_.end(create_running(year), 0);
    EXPECT_EQ(last(year).exit_code, 0);
    test_.reset();
  }
}

// -- logs -------------------------------------------------------------------------------

TEST_F(ScriptedKubernetes, a_broken_log_stream_continues_where_it_was) {
  start();
  api_.spoil("get pods/log", {.kind = Fault::Kind::cut, .bytes = 4});
  auto pod = create_running("one");
  api_.print(pod, "one\n");
  api_.wait_for("get pods/log", 2);
  EXPECT_TRUE(api_.seen("get pods/log")[1].query.contains("sinceSeconds"));
  api_.print(pod, "two\n");
  test_->logs_with("one", "two\n");
  api_.end(pod, 0);
  EXPECT_EQ(last("one").exit_code, 0);
  auto logs = test_->backend->logs("one"); // The server counts in seconds.
  EXPECT_TRUE(logs == "one\ntwo\n" || logs == "one\none\ntwo\n") << logs;
}

TEST_F(ScriptedKubernetes, a_log_that_is_not_available_yet_is_read_from_its_beginning) {
  start();
  api_.spoil("get pods/log", {.kind = Fault::Kind::reset});
  api_.spoil("get pods/log", {.kind = Fault::Kind::reset});
  api_.spoil("get pods/log", {.status = 500});
  auto pod = create_running("one");
  api_.print(pod, "one\n");
  EXPECT_EQ(test_->logs_with("one", "one\n"), "one\n");
  for (auto& request : api_.seen("get pods/log"))
    EXPECT_FALSE(request.query.contains("sinceSeconds"));
}

/// Messages of runtimes in the log of a container that is gone.
class WordsOfARuntime : public ScriptedKubernetes,
                        public testing::WithParamInterface<const char*> {};

TEST_P(WordsOfARuntime, messages_of_the_runtime_are_not_taken_for_the_jobs_log) {
  start();
  api_.spoil("get pods/log", {.status = 200, .body = GetParam()});
  auto pod = create_running("one");
  api_.print(pod, "one\n");
  api_.end(pod, 0);
  last("one");
  EXPECT_EQ(test_->backend->logs("one"), "one\n");
}

INSTANTIATE_TEST_SUITE_P(
  Of, WordsOfARuntime,
  testing::Values("rpc error: code = NotFound desc = an error occurred when try to find "
                  "container",
                  "unable to retrieve container logs for containerd://0123456789abcdef",
                  "failed to try resolving symlinks in path \"/var/log/pods/a_b/0.log\": "
                  "lstat /var/log/pods/a_b/0.log: no such file or directory"));

TEST_F(ScriptedKubernetes, a_forbidden_log_is_reported_once) {
  start();
  api_.spoil("get pods/log", {.status = 403, .body = forbidden("get", "pods/log")},
             ScriptedApi::always);
  auto pod = create_running("one");
  EXPECT_TRUE(eventually([&] { return heard_.has("cannot get resource \"pods/log\""); }));
  api_.end(pod, 7);
  EXPECT_EQ(last("one").exit_code, 7);
  EXPECT_EQ(heard_.count("cannot get resource"), 1u);
}

// -- ends -------------------------------------------------------------------------------

TEST_F(ScriptedKubernetes, errors_of_the_server_end_no_job) {
  start();
  api_.spoil("get pods/log", {.status = 500}, ScriptedApi::always);
  auto pod = create_running("one");
  auto lists = api_.count("list pods");
  api_.spoil("list pods", {.status = 500}, 2);
  api_.spoil("list pods", {.status = 200, .body = R"({"items": 7})"});
  api_.spoil("list pods", {.status = 404});
  api_.forget();
  EXPECT_GE(api_.wait_for("list pods", lists + 5), lists + 5);
  create_running("two"); // Reported by the next watch.
  EXPECT_TRUE(only_started("one"));
  api_.end(pod, 0);
  EXPECT_EQ(last("one").exit_code, 0);
}

TEST_F(ScriptedKubernetes, a_lost_delete_is_retried) {
  start();
  create_running("one");
  api_.spoil("delete pods", {.kind = Fault::Kind::reset});
  api_.spoil("delete pods", {.status = 503});
  test_->backend->terminate("one", 10s);
  auto event = last("one");
  EXPECT_EQ(event.kind, Event::ended);
  EXPECT_FALSE(event.disrupted);
  auto seconds = json::parse(api_.seen("delete pods").back().body)["gracePeriodSeconds"];
  EXPECT_EQ(seconds, 10);
}

TEST_F(ScriptedKubernetes, a_pod_that_has_ended_by_itself_is_removed_in_spite_of_errors) {
  start();
  auto pod = create_running("one");
  api_.spoil("delete pods", {.status = 503}, 3);
  api_.end(pod, 0);
  last("one");
  EXPECT_TRUE(eventually([&] { return api_.objects("pods").empty(); }));
}

TEST_F(ScriptedKubernetes, a_forbidden_delete_is_reported) {
  start();
  create_running("one");
  api_.spoil("delete pods", {.status = 403, .body = forbidden("delete", "pods")});
  test_->backend->terminate("one", 0ms);
  EXPECT_TRUE(eventually([&] { return heard_.has("cannot delete resource \"pods\""); }));
  EXPECT_TRUE(only_started("one"));
}

TEST_F(ScriptedKubernetes, pods_that_cannot_be_deleted_together_are_deleted_one_by_one) {
  start();
  create_running("one");
  create_running("two");
  api_.spoil("deletecollection pods", {.status = 503});
  api_.spoil("deletecollection pods",
             {.status = 403, .body = forbidden("deletecollection", "pods")});
  stop();
  EXPECT_EQ(api_.objects("pods").size(), 0u);
  EXPECT_TRUE(heard_.has("cannot deletecollection resource"));
}

struct Disruption {
  const char* name;
  json patch;
};

class Disruptions : public ScriptedKubernetes,
                    public testing::WithParamInterface<Disruption> {};

TEST_P(Disruptions, an_end_caused_by_others_is_reported_as_a_disruption) {
  start();
  auto pod = create_running("one");
  api_.change(pod, GetParam().patch);
  if (api_.object("pods", pod)["status"]["phase"] == "Running")
    api_.change(
      pod,
      {{"status",
        {{"containerStatuses",
          {{{"name", "fiber"}, {"state", {{"terminated", {{"exitCode", 143}}}}}}}}}}});
  auto event = last("one");
  EXPECT_EQ(event.kind, Event::ended);
  EXPECT_TRUE(event.disrupted);
}

INSTANTIATE_TEST_SUITE_P(
  kubernetes, Disruptions,
  testing::Values(
    Disruption{
      "condition",
      {{"status",
        {{"conditions", {{{"type", "DisruptionTarget"}, {"status", "True"}}}}}}}},
    Disruption{"evicted", {{"status", {{"phase", "Failed"}, {"reason", "Evicted"}}}}},
    Disruption{"preempted",
               {{"status", {{"phase", "Failed"}, {"reason", "Preempting"}}}}},
    Disruption{"deleted",
               {{"metadata", {{"deletionTimestamp", "2026-01-01T00:00:00Z"}}}}}),
  [](auto& info) { return std::string(info.param.name); });

} // namespace

} // namespace fiber::backends::kubernetes
