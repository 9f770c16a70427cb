// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/docker/docker_fixture.hpp"

#include <unistd.h>

namespace fiber::backends {

clusters::Cluster engine_cluster() {
  return engine_name == std::string("docker") ? clusters::docker() : clusters::podman();
}

DockerOptions docker_options() {
  DockerOptions options;
  options.host = engine_cluster()->at("DOCKER_HOST");
  options.image = std::string("localhost/fiber-test:") + engine_name + "_test";
  options.forward_output = false;
  return options;
}

BackendTraits engine_traits() {
  return {.name = engine_name,
          .make = [] { return make_docker(docker_options()); },
          .missing = [] { return engine_cluster() ? "" : "no engine is up"; },
          .links = false,
          .pages = false,
          .same_host = false};
}

void DockerTest::SetUp() {
  if (!engine_cluster())
    GTEST_SKIP() << "SKIPPED: no engine is up";
}

void DockerTest::TearDown() {
  if (!engine_cluster())
    return;
  EXPECT_TRUE(eventually([&] { return engine().containers().empty(); }))
    << "containers are left";
  for (auto& id : engine().containers())
    engine().remove(id);
}

clusters::DockerView& DockerTest::engine() {
  if (!engine_)
    engine_ = std::make_unique<clusters::DockerView>(docker_options().host);
  return *engine_;
}

std::string DockerTest::only_container() {
  std::vector<std::string> all;
  eventually([&] { return (all = engine().containers()).size() == 1; });
  EXPECT_EQ(all.size(), 1u);
  return all.empty() ? "" : all[0];
}

JobEvent DockerTest::failure_of(BackendTest& test, JobSpec spec) {
  auto job = test.backend->create(std::move(spec));
  auto last = test.events.last(job.id);
  EXPECT_EQ(last.kind, JobEvent::Kind::failed) << last.detail;
  EXPECT_EQ(test.events.of(job.id).size(), 1u);
  return last;
}

namespace {

[[noreturn]] void drive_one(const DockerOptions& options) {
  auto backend = make_docker(options);
  backend->watch([](const JobEvent&) {});
  backend->create(BackendTest::spec("one", "wait"));
  for (;;)
    ::pause();
}

} // namespace

int drive(const std::string& host, const std::string& lease_seconds) {
  auto options = docker_options();
  options.host = host;
  options.lease = std::chrono::seconds(std::stoi(lease_seconds));
  drive_one(options);
}

int drive_inside(const std::string& host) {
  DockerOptions options;
  options.host = host;
  options.allowed = {docker::driver_volumes};
  drive_one(options);
}

} // namespace fiber::backends
