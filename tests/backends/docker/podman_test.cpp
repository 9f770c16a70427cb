// SPDX-License-Identifier: Apache-2.0
// The promise: containers of a real Podman keep the contract. They outlive its service,
// which reports how they ended whenever asked, but not why they were killed.
#include <csignal>

#include "tests/backends/docker/docker_fixture.hpp"
#include "tests/clusters/docker_proxy.hpp"
#include "wire/address.hpp"

namespace fiber::backends {

const char* const engine_name = "podman";

INSTANTIATE_TEST_SUITE_P(podman, Jobs, testing::Values(engine_traits()), traits_name);
INSTANTIATE_TEST_SUITE_P(podman, Processes, testing::Values(engine_traits()),
                         traits_name);

namespace {

class Podman : public DockerTest {};

TEST_F(Podman, a_restarted_podman_still_has_its_jobs_and_takes_new_ones) {
  BackendTest test(make_docker(docker_options()));
  auto job = test.create("one", "wait");
  test.logs_with(job.id, "waiting");
  ASSERT_EQ(script("restart"), 0);
  auto next = test.create("two", "exit 7");
  EXPECT_EQ(test.events.last(next.id).exit_code, 7);
  EXPECT_EQ(test.events.of(job.id).size(), 1u);
  test.backend->terminate(job.id, std::chrono::minutes(1));
  EXPECT_EQ(test.events.last(job.id).exit_code, 0);
}

TEST_F(Podman, a_driver_is_reached_at_the_bridge_that_the_first_job_brings) {
  BackendTest test(make_docker(docker_options()));
  const auto address = test.backend->driver_address();
  const auto socket = wire::listen_on(address, 0, test.backend->address_comes_later());
  test.logs_with(test.create("one", "wait").id, "waiting");
  std::string error;
  EXPECT_TRUE(wire::connect_to(address, wire::port_of(socket.get()),
                               std::chrono::steady_clock::now() + std::chrono::minutes(1),
                               error))
    << error;
}

TEST_F(Podman, podman_repeats_an_end_that_was_missed) {
  clusters::DockerProxy proxy(docker_options().host);
  proxy.harm(clusters::DockerProxy::Harm::lose_reply, "/events", 2);
  auto options = docker_options();
  options.host = proxy.host();
  BackendTest test(make_docker(options));
  auto job = test.create("one", "exit 7");
  EXPECT_EQ(test.events.last(job.id).exit_code, 7);
  EXPECT_EQ(proxy.harmed(), 2);
}

TEST_F(Podman, podman_does_not_report_whether_a_kill_was_for_memory) {
  BackendTest test(make_docker(docker_options()));
  auto spec = BackendTest::spec("one", "wait");
  spec.resources.memory_mb = 64;
  auto job = test.backend->create(std::move(spec));
  test.logs_with(job.id, "waiting");
  EXPECT_EQ(engine().order(only_container(), "kill"), 204);
  auto last = test.events.last(job.id);
  EXPECT_EQ(last.exit_code, -SIGKILL);
  EXPECT_EQ(last.detail, "killed by SIGKILL, memory limit 64 MiB, cause not reported");
}

} // namespace

} // namespace fiber::backends
