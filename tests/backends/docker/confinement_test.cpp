// SPDX-License-Identifier: Apache-2.0
// The promise: a job is not root and has no more of the engine's machine than a job
// needs, unless the driver asks for more; what is missing is named.
#include <filesystem>

#include "tests/backends/docker/docker_fixture.hpp"

namespace fiber::backends {

namespace {

class DockerConfinement : public DockerTest {
protected:
  /// Returns what a job printed that played `script`, and then waits.
  static std::string played(BackendTest& test, const std::string& script) {
    auto job = test.create("one", script + "\nwait");
    return test.logs_with(job.id, "waiting\n");
  }
  nlohmann::json describe() { return engine().inspect(only_container()); }
  /// Gives the engine an image of this program whose user is `user`.
  static std::string image_of_user(const std::string& user) {
    auto name = std::string("localhost/fiber-test:") + engine_name + "_user";
    EXPECT_EQ(script("load --user=" + user + " " + name + " " +
                     std::filesystem::read_symlink("/proc/self/exe").string()),
              0);
    return name;
  }
};

bool has(const std::string& text, const std::string& words) {
  return text.find(words) != text.npos;
}

#define EXPECT_HAS(text, words) EXPECT_TRUE(has(text, words)) << text

TEST_F(DockerConfinement, by_default_a_job_is_a_plain_user_without_capabilities) {
  BackendTest test(make_docker(docker_options()));
  auto said = played(test, "status\nroom /tmp\nwrite /usr/note\nwrite /tmp/note\nwrite "
                           "/dev/shm/note\nenv HOME");
  EXPECT_HAS(said, "Uid:\t65532\t65532\t65532\t65532\n");
  EXPECT_HAS(said, "Gid:\t65532\t65532\t65532\t65532\n");
  EXPECT_HAS(said, "CapEff:\t0000000000000000\n");
  EXPECT_HAS(said, "CapBnd:\t0000000000000000\n");
  EXPECT_HAS(said, "NoNewPrivs:\t1\n");
  EXPECT_HAS(said, "not written /usr/note\n");
  EXPECT_HAS(said, "\nwritten /tmp/note\n");
  EXPECT_HAS(said, "\nwritten /dev/shm/note\n");
  EXPECT_HAS(said, "HOME=/tmp\n");
  auto host = describe()["HostConfig"];
  EXPECT_EQ(host["ReadonlyRootfs"], true);
  EXPECT_EQ(host["PidsLimit"], 4096);
  EXPECT_HAS(said, "room in /tmp: 1024 MiB\n");
  if (engine_name == std::string("docker")) {
    EXPECT_EQ(host["LogConfig"]["Config"]["max-size"], "10m");
  }
  EXPECT_EQ(host["NetworkMode"], "bridge");
  EXPECT_NE(host["Privileged"], true);
}

TEST_F(DockerConfinement, a_driver_can_ask_for_all_of_it) {
  auto options = docker_options();
  options.user = "root";
  options.network = "host";
  options.allowed = {docker::writable_root, docker::capabilities, docker::new_privileges,
                     docker::processes};
  BackendTest test(make_docker(options));
  auto said = played(test, "status\nwrite /usr/note");
  EXPECT_HAS(said, "Uid:\t0\t0\t0\t0\n");
  EXPECT_FALSE(has(said, "CapEff:\t0000000000000000\n")) << said;
  EXPECT_HAS(said, "NoNewPrivs:\t0\n");
  EXPECT_HAS(said, "\nwritten /usr/note\n");
  EXPECT_EQ(describe()["HostConfig"]["NetworkMode"], "host");
}

TEST_F(DockerConfinement, the_user_of_an_image_is_kept_unless_it_is_root) {
  for (auto& [user, expected] :
       {std::pair<std::string, std::string>{"1234:1235", "1234"}, {"root", "65532"}}) {
    auto options = docker_options();
    options.image = image_of_user(user);
    BackendTest test(make_docker(options));
    EXPECT_HAS(played(test, "status"), "Uid:\t" + expected + "\t");
  }
}

TEST_F(DockerConfinement, a_job_that_lacked_something_names_the_setting) {
  BackendTest test(make_docker(docker_options()));
  auto job = test.create("one", "print mkdir: Read-only file system\nexit 3");
  auto last = test.events.last(job.id);
  EXPECT_EQ(last.exit_code, 3);
  EXPECT_HAS(last.detail, "docker_allow=writable_root");
  auto next = test.create("two", "print bind: Permission denied\nexit 3");
  EXPECT_HAS(test.events.last(next.id).detail, "docker_user=root");
}

TEST_F(DockerConfinement, a_volume_with_the_engines_socket_is_refused) {
  auto socket = docker_options().host.substr(std::string("unix://").size());
  auto folder = socket.substr(0, socket.rfind('/'));
  for (auto& source : {socket, folder, folder + "/../" + folder.substr(folder.rfind('/')),
                       std::string("/"), std::string("/run"), std::string("/var/run/"),
                       std::string("/run/podman/podman.sock")}) {
    auto options = docker_options();
    options.volumes = {source + ":/harmless"};
    try {
      make_docker(options);
      ADD_FAILURE() << source << " was accepted";
    } catch (const EngineError& error) {
      EXPECT_HAS(std::string(error.what()), "use docker_volumes " + source);
    }
  }
}

} // namespace

} // namespace fiber::backends
