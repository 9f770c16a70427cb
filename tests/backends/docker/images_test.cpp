// SPDX-License-Identifier: Apache-2.0
// The promise: an image that is not available or has another program causes a helpful
// error.
#include <algorithm>

#include "tests/backends/docker/docker_fixture.hpp"

namespace fiber::backends {

namespace {

class DockerImages : public DockerTest {
protected:
  static void expect_in(const std::string& text, const std::string& words) {
    EXPECT_NE(text.find(words), std::string::npos) << text;
  }
  static JobSpec of_image(const std::string& image) {
    auto spec = BackendTest::spec("one", "exit 0");
    spec.image = image;
    return spec;
  }
  /// Makes an image without files.
  void make_empty_image(const std::string& name) {
    auto request = std::string(1024, '\0'); // The end of a tar archive.
    Loop loop;
    docker::Engine other(loop, docker_options().host);
    auto order = other.request("POST", "/images/create?fromSrc=-&repo=" + name);
    order.headers = {"Content-Type: application/x-tar"};
    order.body = std::move(request);
    auto reply = other.client().call(std::move(order));
    ASSERT_TRUE(reply.ok()) << reply.body;
  }
};

TEST_F(DockerImages, an_unavailable_image_is_named_with_the_reason) {
  BackendTest test(make_docker(docker_options()));
  // No registry answers there.
  auto last = failure_of(test, of_image("localhost:1/fiber-test-none:2"));
  expect_in(last.detail, "localhost:1/fiber-test-none:2");
  expect_in(last.detail, "can't be pulled");
  expect_in(last.detail, "connection refused");
  // The image may come later, so each job tries again.
  auto spec = of_image("localhost:1/fiber-test-none:2");
  spec.name = "two";
  expect_in(failure_of(test, std::move(spec)).detail, "connection refused");
}

TEST_F(DockerImages, many_jobs_wait_for_one_pull) {
  BackendTest test(make_docker(docker_options()));
  for (int i = 0; i < 5; ++i) {
    auto spec = of_image("localhost:1/fiber-test-none:3");
    spec.name = "job-" + std::to_string(i);
    test.backend->create(std::move(spec));
  }
  EXPECT_TRUE(test.events.wait_for(JobEvent::Kind::failed, 5));
  for (int i = 0; i < 5; ++i) {
    auto words = test.events.waits("job-" + std::to_string(i));
    ASSERT_FALSE(words.empty()) << i;
    EXPECT_EQ(words[0], "pulling localhost:1/fiber-test-none:3");
  }
}

TEST_F(DockerImages, an_invalid_image_name_is_refused_in_the_engines_words) {
  BackendTest test(make_docker(docker_options()));
  auto last = failure_of(test, of_image("Not An Image"));
  expect_in(last.detail, "Not An Image");
  expect_in(last.detail, "invalid reference format");
}

TEST_F(DockerImages, an_image_without_the_program_is_refused_in_the_engines_words) {
  make_empty_image("localhost/fiber-test-empty");
  BackendTest test(make_docker(docker_options()));
  auto last = failure_of(test, of_image("localhost/fiber-test-empty"));
  expect_in(last.detail, "start container: ");
  expect_in(last.detail, "no such file or directory");
  EXPECT_EQ(last.status / 100, 4);
}

TEST_F(DockerImages, an_image_with_another_program_ends_as_that_program_does) {
  ASSERT_EQ(script("load localhost/fiber-test:true /bin/true"), 0);
  BackendTest test(make_docker(docker_options()));
  auto job = test.backend->create(of_image("localhost/fiber-test:true"));
  EXPECT_EQ(test.events.last(job.id).exit_code, 0);
}

TEST_F(DockerImages, a_tag_that_moves_changes_no_later_job_of_the_session) {
  auto tag = [&](const std::string& image) {
    auto reply = engine().ask("POST", "/images/" + image +
                                        "/tag?repo=localhost/fiber-test&tag=moving");
    ASSERT_TRUE(reply.ok()) << reply.body;
  };
  auto seven = [](const char* name) {
    auto spec = of_image("localhost/fiber-test:moving");
    spec.name = name;
    spec.boot = boot("exit 7");
    return spec;
  };
  ASSERT_EQ(script("load localhost/fiber-test:true /bin/true"), 0);
  tag(docker_options().image);
  BackendTest test(make_docker(docker_options()));
  auto before = test.backend->create(seven("one"));
  EXPECT_EQ(test.events.last(before.id).exit_code, 7);
  tag("localhost/fiber-test:true");
  auto after = test.backend->create(seven("two"));
  EXPECT_EQ(test.events.last(after.id).exit_code, 7);
}

} // namespace

} // namespace fiber::backends
