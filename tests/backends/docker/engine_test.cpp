// SPDX-License-Identifier: Apache-2.0
// The promise: without an engine the error names its address, what was found there, and
// what to do.
#include <fcntl.h>
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <httplib.h>

#include "base/unique_fd.hpp"
#include "tests/backends/docker/docker_fixture.hpp"

namespace fiber::backends {

namespace {

std::string refusal(const DockerOptions& options) {
  try {
    make_docker(options);
    ADD_FAILURE() << "was accepted";
  } catch (const EngineError& error) {
    return error.what();
  }
  return "";
}

std::string refusal_of(const std::string& host) {
  DockerOptions options;
  options.host = host;
  options.image = "localhost/fiber-test:any";
  options.allowed = {docker::plaintext};
  return refusal(options);
}

void expect_in(const std::string& text, const std::string& words) {
  EXPECT_NE(text.find(words), std::string::npos) << text;
}

/// An HTTP server that is no engine.
class OtherServer {
public:
  explicit OtherServer(const std::function<void(httplib::Response&)>& answer) {
    server_.Get(
      ".*", [=](const httplib::Request&, httplib::Response& reply) { answer(reply); });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
  }
  ~OtherServer() {
    while (!server_.is_running())
      std::this_thread::yield();
    server_.stop();
    thread_.join();
  }
  std::string host() const { return "tcp://127.0.0.1:" + std::to_string(port_); }

private:
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

TEST(DockerEngine, a_missing_engine_is_named_with_advice) {
  auto text = refusal_of("unix:///nowhere/docker.sock");
  expect_in(text, "reach the Docker engine at unix:///nowhere/docker.sock");
  expect_in(text, "No such file or directory");
  expect_in(text, "is the engine running? docker_host or DOCKER_HOST names another");
}

TEST(DockerEngine, an_engine_that_does_not_run_refuses_the_connection) {
  auto text = refusal_of("tcp://127.0.0.1:1");
  expect_in(text, "tcp://127.0.0.1:1");
  expect_in(text, "Connection refused");
}

TEST(DockerEngine, tcp_without_tls_must_be_asked_for) {
  DockerOptions options;
  options.host = "tcp://127.0.0.1:1";
  auto text = refusal(options);
  expect_in(text, "without TLS the network could read the keys");
  expect_in(text, "docker_allow=plaintext");
  options.host = "http://127.0.0.1:1";
  expect_in(refusal(options), "docker_allow=plaintext");
  ::setenv("DOCKER_TLS_VERIFY", "1", 1); // Makes TLS of tcp://, not of http://.
  expect_in(refusal(options), "docker_allow=plaintext");
  ::unsetenv("DOCKER_TLS_VERIFY");
}

TEST(DockerEngine, the_environment_names_the_engine) {
  ::setenv("DOCKER_HOST", "unix:///elsewhere.sock", 1);
  auto text = refusal_of("");
  ::unsetenv("DOCKER_HOST");
  expect_in(text, "unix:///elsewhere.sock");
}

TEST(DockerEngine, an_invalid_address_is_refused) {
  expect_in(refusal_of("elsewhere"), "unix:///PATH or tcp://HOST:PORT");
}

TEST(DockerEngine, a_server_that_is_no_engine_is_reported) {
  OtherServer web(
    [](auto& reply) { reply.set_content("<html>hello</html>", "text/html"); });
  expect_in(refusal_of(web.host()), "what answers there is no container engine");
  OtherServer list([](auto& reply) { reply.set_content("[1, 2]", "application/json"); });
  expect_in(refusal_of(list.host()), "what answers there is no container engine");
  OtherServer odd(
    [](auto& reply) { reply.set_content("{\"ApiVersion\": 7}", "application/json"); });
  expect_in(refusal_of(odd.host()), "what answers there is no container engine");
}

TEST(DockerEngine, a_refusal_by_the_engine_is_quoted) {
  OtherServer wall([](auto& reply) {
    reply.status = 403;
    reply.set_content("{\"message\": \"not for you\"}", "application/json");
  });
  expect_in(refusal_of(wall.host()), "not for you");
}

TEST(DockerEngine, an_old_engine_is_reported_with_the_version_needed) {
  OtherServer old([](auto& reply) {
    reply.set_content("{\"ApiVersion\": \"1.24\", \"Version\": \"1.12\"}",
                      "application/json");
  });
  auto text = refusal_of(old.host());
  expect_in(text, "1.24");
  expect_in(text, "Docker 19.03");
}

class DockerEngineHere : public DockerTest {};

/// Runs as a user without rights.
TEST_F(DockerEngineHere, a_missing_permission_is_reported_with_who_has_it) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd in(ends[0]), out(ends[1]);
  pid_t child = ::fork();
  if (child == 0) {
    constexpr id_t nobody = 65534;
    if (::setgroups(0, nullptr) || ::setgid(nobody) || ::setuid(nobody))
      ::_exit(1);
    auto text = refusal(docker_options());
    ::_exit(::write(out.get(), text.data(), text.size()) < 0);
  }
  out.reset();
  std::string text(4096, '\0');
  auto got = ::read(in.get(), text.data(), text.size());
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  expect_in(text, "Permission denied");
  expect_in(text, "be in the group that owns the socket (docker), or root");
}

TEST_F(DockerEngineHere, an_unknown_network_is_reported_in_the_engines_words) {
  auto options = docker_options();
  options.network = "nowhere";
  auto text = refusal(options);
  expect_in(text, "use docker_network nowhere");
  expect_in(text, "not found");
}

TEST_F(DockerEngineHere, without_an_image_the_error_names_the_setting) {
  auto options = docker_options();
  options.image = "";
  expect_in(refusal(options), "this process is in no container of the engine; set image");
}

} // namespace

} // namespace fiber::backends
