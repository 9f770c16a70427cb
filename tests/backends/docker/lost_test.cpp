// SPDX-License-Identifier: Apache-2.0
// The promise: if a reply, the driver or the engine itself is lost, a job still exists
// once, its end is reported correctly, and no container is left.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "tests/backends/docker/docker_fixture.hpp"
#include "tests/clusters/docker_proxy.hpp"

namespace fiber::backends {

namespace {

using clusters::DockerProxy;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;
using Kind = JobEvent::Kind;
using Harm = DockerProxy::Harm;

class DockerLost : public DockerTest {
protected:
  static DockerOptions through(const DockerProxy& proxy) {
    auto options = docker_options();
    options.host = proxy.host();
    return options;
  }
};

/// The request that the engine served although its reply was lost.
class DockerLostReply : public DockerLost,
                        public testing::WithParamInterface<const char*> {};

TEST_P(DockerLostReply, the_job_runs_exactly_once) {
  DockerProxy proxy(docker_options().host);
  for (int times : {1, 3}) {
    BackendTest test(make_docker(through(proxy)));
    auto before = proxy.harmed();
    proxy.harm(Harm::lose_reply, GetParam(), times);
    auto job = test.create("one", "print alive\nwait");
    EXPECT_EQ(test.logs_with(job.id, "waiting\n"), "alive\nwaiting\n");
    EXPECT_NE(test.events.started(job.id), -1);
    EXPECT_EQ(proxy.harmed() - before, times);
    EXPECT_EQ(engine().containers().size(), 1u);
    test.backend->terminate(job.id, std::chrono::minutes(1));
    EXPECT_EQ(test.events.last(job.id).exit_code, 0);
    EXPECT_EQ(test.events.of(job.id).size(), 2u);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, DockerLostReply,
                         testing::Values("/containers/create", "/attach", "/wait",
                                         "/start"),
                         [](auto& order) {
                           std::string path = order.param;
                           return path.substr(path.rfind('/') + 1);
                         });

TEST_F(DockerLost, a_lost_container_is_not_mistaken_for_the_one_made_in_its_place) {
  DockerProxy proxy(docker_options().host);
  BackendTest test(make_docker(through(proxy)));
  test.events.last(test.create("zero", "exit 0").id); // The image is known now.
  // As when the engine is restarted between the creation and the start.
  constexpr int all = 1000;
  proxy.harm(Harm::swallow, "/attach", 1);
  proxy.harm(Harm::lose_reply, "/wait", all);
  proxy.harm(Harm::lose_reply, "/json", all);
  auto inspections = proxy.seen("/json");
  // On Podman, a job whose container has vanished ends after five seconds.
  auto spec = BackendTest::spec("one", "print alive\nlinger SIX_SECONDS\nexit 7");
  spec.environment["SIX_SECONDS"] = "6";
  auto job = test.backend->create(std::move(spec));
  EXPECT_TRUE(eventually([&] { return proxy.seen("/json") > inspections; }));
  proxy.harm(Harm::lose_reply, "DELETE", all);
  proxy.break_swallowed(); // The container is removed, and another one created.
  EXPECT_TRUE(eventually([&] { return engine().containers().empty(); }));
  proxy.heal();
  proxy.harm(Harm::lose_reply, "DELETE", all);
  inspections = proxy.seen("/json");
  EXPECT_TRUE(eventually(
    [&] { return proxy.seen("/json") > inspections || proxy.seen("/create") == 3; }));
  proxy.heal();
  EXPECT_EQ(test.logs_with(job.id, "alive\n"), "alive\n");
  EXPECT_EQ(test.events.last(job.id).exit_code, 7);
  EXPECT_EQ(test.events.of(job.id).size(), 2u); // It started once and ended once.
}

TEST_F(DockerLost, a_lost_kill_request_is_retried) {
  DockerProxy proxy(docker_options().host);
  BackendTest test(make_docker(through(proxy)));
  auto job = test.create("one", "ignore-term\nlinger");
  test.logs_with(job.id, "ignoring");
  proxy.harm(Harm::lose_reply, "/kill", 2);
  test.backend->terminate(job.id, std::chrono::milliseconds(50));
  EXPECT_EQ(test.events.last(job.id).exit_code, -SIGKILL);
  EXPECT_EQ(proxy.harmed(), 2);
}

TEST_F(DockerLost, a_driver_killed_before_the_start_leaves_nothing_beyond_its_lease) {
  constexpr seconds lease{10};
  DockerProxy proxy(docker_options().host);
  proxy.harm(Harm::swallow, "/start", 1);
  auto begin = Clock::now();
  auto host = proxy.host(), lease_text = std::to_string(lease.count());
  pid_t driver = ::fork();
  if (driver == 0) {
    ::execl("/proc/self/exe", engine_name, "--drive", host.c_str(), lease_text.c_str(),
            nullptr);
    ::_exit(127);
  }
  EXPECT_TRUE(eventually([&] { return proxy.harmed() == 1; }));
  ::kill(driver, SIGKILL);
  ASSERT_EQ(::waitpid(driver, nullptr, 0), driver);
  auto left = only_container();
  EXPECT_EQ(engine().state(left), "created");

  auto options = docker_options();
  options.lease = seconds(1); // Soon older than its lease, and alive.
  BackendTest living(make_docker(options));
  auto job = living.create("living", "wait");
  EXPECT_EQ(living.logs_with(job.id, "waiting\n"), "waiting\n");
  for (auto& id : engine().containers()) // It prints before the engine calls it running.
    EXPECT_TRUE(id == left ||
                eventually([&] { return engine().state(id) == "running"; }));

  make_docker(docker_options());
  if (Clock::now() - begin < lease - seconds(2)) {
    EXPECT_EQ(engine().state(left), "created");
  }
  EXPECT_TRUE(eventually([&] {
    make_docker(docker_options());
    return engine().state(left).empty();
  }));
  EXPECT_GE(Clock::now() - begin, lease - seconds(1));
  EXPECT_EQ(living.events.of(job.id).size(), 1u);
  living.backend->terminate(job.id, std::chrono::minutes(1));
  EXPECT_EQ(living.events.last(job.id).exit_code, 0);
}

TEST_F(DockerLost, a_container_removed_by_someone_else_has_ended) {
  BackendTest test(make_docker(docker_options()));
  auto job = test.create("one", "wait");
  test.logs_with(job.id, "waiting");
  engine().remove(only_container());
  auto last = test.events.last(job.id);
  EXPECT_EQ(last.kind, Kind::ended);
  EXPECT_EQ(last.exit_code, -SIGKILL);
}

TEST_F(DockerLost, a_stalled_engine_loses_nothing) {
  BackendTest test(make_docker(docker_options()));
  auto job = test.create("one", "wait");
  test.logs_with(job.id, "waiting");
  ASSERT_EQ(script("signal STOP"), 0);
  test.backend->terminate(job.id, std::chrono::minutes(1));
  auto next = test.create("two", "exit 7");
  std::this_thread::sleep_for(seconds(3)); // The stall itself.
  EXPECT_EQ(test.events.of(job.id).size(), 1u);
  ASSERT_EQ(script("signal CONT"), 0);
  EXPECT_EQ(test.events.last(job.id).exit_code, 0);
  EXPECT_EQ(test.events.last(next.id).exit_code, 7);
}

} // namespace

} // namespace fiber::backends
