// SPDX-License-Identifier: Apache-2.0
// The promise: containers have what their jobs asked for, and survive interference.
#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/backends/docker/docker_fixture.hpp"

namespace fiber::backends {

namespace {

class DockerContainers : public DockerTest {
protected:
  nlohmann::json describe() { return engine().inspect(only_container()); }
};

TEST_F(DockerContainers, containers_have_the_requested_resources) {
  BackendTest test(make_docker(docker_options()));
  auto spec = BackendTest::spec("one", "wait");
  spec.resources = {.cpu = 0.5, .memory_mb = 64, .gpu = 0};
  auto job = test.backend->create(std::move(spec));
  test.logs_with(job.id, "waiting");
  auto host = describe()["HostConfig"];
  EXPECT_EQ(host["NanoCpus"], 500000000);
  EXPECT_EQ(host["Memory"], 64 << 20);
  EXPECT_EQ(host["MemorySwap"], 64 << 20);
}

TEST_F(DockerContainers, containers_have_labels_of_job_and_session) {
  BackendTest test(make_docker(docker_options()));
  auto spec = BackendTest::spec("one/with odd:name", "wait");
  spec.labels = {{"fiber.pool", "p-1"}, {"team", "a b"}};
  auto job = test.backend->create(std::move(spec));
  test.logs_with(job.id, "waiting");
  auto labels = describe()["Config"]["Labels"];
  EXPECT_EQ(labels["fiber.job"], "one/with odd:name");
  EXPECT_EQ(labels["fiber.pool"], "p-1");
  EXPECT_EQ(labels["team"], "a b");
  EXPECT_EQ(labels["fiber.lease"], "60");
  EXPECT_EQ(std::string(labels["fiber.session"]).size(), 12u);
}

TEST_F(DockerContainers, containers_have_volumes_and_variables) {
  auto folder = std::filesystem::temp_directory_path() / "docker-volume-test";
  std::filesystem::create_directories(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::all); // Jobs are not root.
  auto options = docker_options();
  options.volumes = {folder.string() + ":/data", folder.string() + ":/fixed:ro"};
  options.environment = {{"FIBER_TEST_ONE", "1"}, {"FIBER_TEST_TWO", "2"}};
  BackendTest test(make_docker(options));
  auto spec = BackendTest::spec("one", "env FIBER_TEST_ONE\nenv FIBER_TEST_TWO\n"
                                       "write /data/note\nwrite /fixed/note\nwait");
  spec.environment = {{"FIBER_TEST_TWO", "the job's"}};
  auto job = test.backend->create(std::move(spec));
  auto logs = test.logs_with(job.id, "waiting");
  EXPECT_EQ(logs, "FIBER_TEST_ONE=1\nFIBER_TEST_TWO=the job's\nwritten /data/note\n"
                  "not written /fixed/note\nwaiting\n");
  EXPECT_EQ(first_line(folder / "note"), "written");
  std::filesystem::remove_all(folder);
}

TEST_F(DockerContainers, a_program_may_close_its_stdin_before_it_becomes_a_job) {
  BackendTest test(make_docker(docker_options()));
  auto spec = BackendTest::spec("one", "print alive\nexit 7");
  spec.environment["FIBER_TEST_CLOSE_STDIN"] = "1";
  const auto job = test.backend->create(std::move(spec));
  EXPECT_EQ(test.logs_with(job.id, "alive\n"), "alive\n");
  EXPECT_EQ(test.events.last(job.id).exit_code, 7);
}

TEST_F(DockerContainers, start_parameters_of_a_job_are_not_visible) {
  BackendTest test(make_docker(docker_options()));
  auto spec = BackendTest::spec("one", "wait\nSECRET-BOOT");
  spec.keys = boot("SECRET-KEYS");
  auto job = test.backend->create(std::move(spec));
  test.logs_with(job.id, "waiting");
  auto id = only_container();
  EXPECT_EQ(engine().inspect(id).dump().find("SECRET"), std::string::npos);
  EXPECT_EQ(engine()
              .ask("GET", "/containers/" + id + "/logs?stdout=1&stderr=1")
              .body.find("SECRET"),
            std::string::npos);
}

TEST_F(DockerContainers, containers_are_in_the_configured_network) {
  for (std::string network : {"host", "bridge", ""}) {
    auto options = docker_options();
    options.network = network;
    BackendTest test(make_docker(options));
    auto job = test.create("one", "wait");
    test.logs_with(job.id, "waiting");
    EXPECT_EQ(describe()["HostConfig"]["NetworkMode"],
              network.empty() ? "bridge" : network);
    EXPECT_EQ(test.backend->driver_address(),
              network == "host" ? "127.0.0.1"
                                : engine_cluster()->at("DOCKER_BRIDGE_ADDRESS"));
  }
}

TEST_F(DockerContainers, a_container_that_exceeds_its_memory_says_so) {
  BackendTest test(make_docker(docker_options()));
  auto spec = BackendTest::spec("one", "eat 400\nwait");
  spec.resources.memory_mb = 128; // Enough for the sanitizers.
  auto job = test.backend->create(std::move(spec));
  auto last = test.events.last(job.id);
  EXPECT_EQ(last.exit_code, -SIGKILL);
  EXPECT_EQ(last.detail, "OOMKilled, limit 128 MiB");
}

TEST_F(DockerContainers, a_container_survives_a_child_that_exceeds_the_memory) {
  BackendTest test(make_docker(docker_options()));
  auto spec = BackendTest::spec("one", "child-eats 400\nexit 3");
  spec.resources.memory_mb = 128; // The kernel must choose the child.
  auto job = test.backend->create(std::move(spec));
  EXPECT_EQ(test.events.last(job.id).exit_code, 3);
}

TEST_F(DockerContainers, a_container_killed_by_someone_else_says_so) {
  BackendTest test(make_docker(docker_options()));
  auto job = test.create("one", "wait");
  test.logs_with(job.id, "waiting");
  EXPECT_EQ(engine().order(only_container(), "kill"), 204);
  auto last = test.events.last(job.id);
  EXPECT_EQ(last.exit_code, -SIGKILL);
  EXPECT_EQ(last.detail, "killed by SIGKILL");
}

TEST_F(DockerContainers, a_paused_container_can_be_ended) {
  BackendTest test(make_docker(docker_options()));
  auto job = test.create("one", "wait");
  test.logs_with(job.id, "waiting");
  ASSERT_EQ(engine().order(only_container(), "pause"), 204);
  test.backend->terminate(job.id, std::chrono::milliseconds(100));
  // The engine resumes it in order to kill it; asking may be faster.
  auto last = test.events.last(job.id);
  EXPECT_EQ(last.kind, JobEvent::Kind::ended);
  EXPECT_TRUE(last.exit_code == 0 || last.exit_code == -SIGKILL) << last.detail;
}

} // namespace

} // namespace fiber::backends
