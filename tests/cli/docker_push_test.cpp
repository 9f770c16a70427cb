// SPDX-License-Identifier: Apache-2.0
// The promise: `fiber run --build --push` puts the image into a real registry, with the
// credentials that `docker login` keeps.
#include <chrono>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "tests/cli/command.hpp"
#include "tests/clusters/cluster.hpp"
#include "tests/clusters/docker_view.hpp"

namespace fiber::cli {
namespace {

constexpr auto address = "127.0.0.1:5555"; // In the network of the engine.
constexpr auto image = "127.0.0.1:5555/pushed:1";

/// A registry of this test's own, for a user "fiber" with the password "secret".
class Registry {
public:
  Registry() {
    folder_.write("users",
                  "fiber:$2b$05$OkCmG3TLJVrIYQVhPJBpL.U3/LUR/wS1Y7om8me03x0jg3XTzYPxK\n");
    folder_.write("config.yml", "version: 0.1\n"
                                "storage: {filesystem: {rootdirectory: " +
                                  folder_.path("images") +
                                  "}}\n"
                                  "http: {addr: \"" +
                                  address +
                                  "\"}\n"
                                  "auth: {htpasswd: {realm: tests, path: " +
                                  folder_.path("users") + "}}\n");
    folder_.write("docker/config.json",
                  std::string(R"({"auths": {")") + address +
                    R"(": {"auth": "ZmliZXI6c2VjcmV0"}}})"); // fiber:secret
    auto started =
      shell("timeout 110 docker-registry serve " + folder_.path("config.yml") + " >" +
            folder_.path("log") + " 2>&1 & echo $!");
    pid_ = std::stoi(started.out);
    auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (tags().empty() && std::chrono::steady_clock::now() < limit)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ~Registry() { ::kill(pid_, SIGTERM); } // timeout passes it on.
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// Returns the registry's list of tags of the image, or its error; nothing if it does
  /// not answer.
  std::string tags() const {
    return shell(
             std::string(
               "curl --silent --noproxy '*' --max-time 5 --user fiber:secret http://") +
             address + "/v2/pushed/tags/list")
      .out;
  }
  std::string log() const { return folder_.read("log"); }
  /// A value of DOCKER_CONFIG with the password.
  std::string logged_in() const { return folder_.path("docker"); }
  /// A value of DOCKER_CONFIG without any password.
  std::string logged_out() const { return folder_.path("none"); }

private:
  TestFolder folder_;
  pid_t pid_ = 0;
};

Outcome push(const std::string& docker_config) {
  return fiber_command({"run", "--backend", "docker", "--build", "--push", "--image",
                        image, "--", CLI_PROGRAM, "sum", "2"},
                       {{"DOCKER_HOST", clusters::docker()->at("DOCKER_HOST")},
                        {"DOCKER_CONFIG", docker_config}});
}

TEST(DockerPush, puts_the_image_into_a_registry_for_those_who_are_logged_in) {
  if (!clusters::docker())
    GTEST_SKIP() << "SKIPPED: no engine is up";
  Registry registry;
  ASSERT_FALSE(registry.tags().empty()) << registry.log();
  auto refused = push(registry.logged_out());
  EXPECT_EQ(refused.code, 1) << refused.out;
  EXPECT_NE(refused.err.find(std::string("push ") + image), std::string::npos)
    << refused.err;
  EXPECT_NE(refused.err.find("docker login"), std::string::npos) << refused.err;
  EXPECT_EQ(registry.tags().find(R"(["1"])"), std::string::npos) << registry.tags();

  auto pushed = push(registry.logged_in());
  EXPECT_EQ(pushed.code, 0) << pushed.err << registry.log();
  EXPECT_EQ(pushed.out, "sum 84\n");
  EXPECT_NE(registry.tags().find(R"(["1"])"), std::string::npos) << registry.tags();
  clusters::DockerView(clusters::docker()->at("DOCKER_HOST"))
    .ask("DELETE", std::string("/images/") + image + "?force=1");
}

} // namespace
} // namespace fiber::cli
