// SPDX-License-Identifier: Apache-2.0
// The promise: containers of a real Docker engine keep the contract. Also: containers of
// an engine that dies, and what it reports about killed ones.
#include <csignal>

#include "tests/backends/docker/docker_fixture.hpp"

namespace fiber::backends {

const char* const engine_name = "docker";

INSTANTIATE_TEST_SUITE_P(docker, Jobs, testing::Values(engine_traits()), traits_name);
INSTANTIATE_TEST_SUITE_P(docker, Processes, testing::Values(engine_traits()),
                         traits_name);

namespace {

class Docker : public DockerTest {};

TEST_F(Docker, a_restarted_docker_has_lost_its_jobs_and_takes_new_ones) {
  BackendTest test(make_docker(docker_options()));
  auto job = test.create("one", "wait");
  test.logs_with(job.id, "waiting");
  ASSERT_EQ(script("restart"), 0);
  auto last = test.events.last(job.id);
  EXPECT_EQ(last.kind, JobEvent::Kind::ended);
  EXPECT_EQ(last.exit_code, std::nullopt) << *last.exit_code;
  EXPECT_NE(last.detail.find("exit unknown"), std::string::npos) << last.detail;
  auto next = test.create("two", "exit 7");
  EXPECT_EQ(test.events.last(next.id).exit_code, 7);
}

TEST_F(Docker, docker_reports_that_a_kill_was_not_for_memory) {
  BackendTest test(make_docker(docker_options()));
  auto spec = BackendTest::spec("one", "wait");
  spec.resources.memory_mb = 64;
  auto job = test.backend->create(std::move(spec));
  test.logs_with(job.id, "waiting");
  EXPECT_EQ(engine().order(only_container(), "kill"), 204);
  auto last = test.events.last(job.id);
  EXPECT_EQ(last.exit_code, -SIGKILL);
  EXPECT_EQ(last.detail, "killed by SIGKILL");
}

} // namespace

} // namespace fiber::backends
