// SPDX-License-Identifier: Apache-2.0
// The promise: a driver in a container that has the engine's socket, under whatever path,
// hands it to no job, even if it shares its volumes with them.
#include <filesystem>

#include "tests/backends/docker/docker_fixture.hpp"

namespace fiber::backends {

namespace {

namespace fs = std::filesystem;

class DockerSocket : public DockerTest {
protected:
  void SetUp() override {
    DockerTest::SetUp();
    fs::create_directories(folder_ / "data");
  }
  void TearDown() override {
    if (!driver_.empty())
      engine().remove(driver_); // The job ends with its attachment.
    for (auto& id : engine_cluster() ? engine().containers() : std::vector<std::string>())
      engine().remove(id);
    fs::remove_all(folder_);
    DockerTest::TearDown();
  }

  /// Starts a driver in a container, which reaches its engine at `seen`.
  void drive(const std::string& seen, const std::vector<std::string>& binds) {
    auto reply =
      engine().ask("POST", "/containers/create",
                   {{"Image", docker_options().image},
                    {"Cmd", {"--drive-inside", "unix://" + seen}},
                    {"User", "0"},
                    {"HostConfig", {{"NetworkMode", "bridge"}, {"Binds", binds}}}});
    ASSERT_EQ(reply.status, 201) << reply.body;
    driver_ = nlohmann::json::parse(reply.body)["Id"];
    ASSERT_EQ(engine().order(driver_, "start"), 204);
  }
  std::string driver_log() {
    return engine().ask("GET", "/containers/" + driver_ + "/logs?stdout=1&stderr=1").body;
  }
  /// Returns the targets of the only job's binds.
  std::set<std::string> targets_of_job() {
    std::set<std::string> targets;
    auto job = only_container(); // Without its mounts at first.
    EXPECT_TRUE(eventually([&] { return engine().state(job) == "running"; }))
      << driver_log();
    auto told = engine().inspect(job);
    for (auto& mount : told["Mounts"])
      targets.insert(mount["Destination"]);
    return targets;
  }

  const fs::path folder_ =
    fs::temp_directory_path() / ("socket-attack-" + std::to_string(::getpid()));
  std::string driver_;
};

TEST_F(DockerSocket, is_no_volume_of_a_job_under_any_name) {
  auto socket = docker_options().host.substr(std::string("unix://").size());
  auto state = fs::path(socket).parent_path();
  fs::create_directory_symlink(state, folder_ / "link");
  drive("/opt/plain-name",
        {socket + ":/opt/plain-name", state.string() + ":/elsewhere",
         state.parent_path().string() + ":/above",
         (folder_ / "link").string() + ":/through-a-link",
         folder_.string() + ":/harmless", (folder_ / "data").string() + ":/data:ro"});
  auto targets = targets_of_job();
  EXPECT_EQ(targets.count("/opt/plain-name"), 0u) << driver_log();
  EXPECT_EQ(targets.count("/elsewhere"), 0u);
  EXPECT_EQ(targets.count("/above"), 0u);
  EXPECT_EQ(targets.count("/through-a-link"), 0u);
  EXPECT_EQ(targets.count("/harmless"), 1u);
  EXPECT_EQ(targets.count("/data"), 1u);
}

TEST_F(DockerSocket, is_no_volume_of_a_job_with_the_folder_of_all_sockets) {
  auto socket = docker_options().host.substr(std::string("unix://").size());
  auto state = fs::path(socket).parent_path().string();
  drive("/engine/" + fs::path(socket).filename().string(),
        {"/run:/run", state + ":/engine", (folder_ / "data").string() + ":/data"});
  auto targets = targets_of_job();
  EXPECT_EQ(targets.count("/run"), 0u) << driver_log();
  EXPECT_EQ(targets.count("/engine"), 0u);
  EXPECT_EQ(targets.count("/data"), 1u);
}

} // namespace

} // namespace fiber::backends
