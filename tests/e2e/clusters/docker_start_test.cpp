// SPDX-License-Identifier: Apache-2.0
// The error names what keeps jobs from starting on Docker.
#include <optional>
#include <string>

#include <fiber/error.hpp>
#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/clusters/docker_pool.hpp"

namespace fiber::e2e {
namespace {

TEST_F(DockerPool, a_job_of_another_build_is_refused) {
  ASSERT_EQ(script("load localhost/fiber-test:other_build " OTHER_BUILD), 0);
  auto options = config();
  options.image = "localhost/fiber-test:other_build";
  open(options);
  Pool pool(1);
  EXPECT_THROW(pool.map(f, indices(3)), VersionMismatch);
}

TEST_F(DockerPool, an_image_of_a_program_without_init_is_told_so) {
  ASSERT_EQ(script("load localhost/fiber-test:true /bin/true"), 0);
  auto options = config();
  options.image = "localhost/fiber-test:true";
  auto text = start_error(options);
  EXPECT_NE(text.find("fiber::init"), std::string::npos) << text;
}

TEST_F(DockerPool, an_image_that_is_not_there_is_named) {
  auto options = config();
  options.image = "localhost:1/none:1";
  auto text = start_error(options);
  EXPECT_NE(text.find("localhost:1/none:1"), std::string::npos) << text;
  EXPECT_NE(text.find("can't be pulled"), std::string::npos) << text;
}

TEST_F(DockerPool, without_an_engine_there_is_no_session) {
  auto options = config();
  options.docker_host = "unix:///nowhere.sock";
  try {
    open(options);
    FAIL() << "there is one";
  } catch (const BackendError& error) {
    EXPECT_NE(std::string(error.what()).find("is the engine running?"), std::string::npos)
      << error.what();
  }
}

TEST_F(DockerPool, without_an_image_there_is_no_session) {
  auto options = config();
  options.image = std::nullopt;
  try {
    open(options);
    FAIL() << "there is one";
  } catch (const BackendError& error) {
    EXPECT_NE(std::string(error.what()).find("set image"), std::string::npos)
      << error.what();
  }
}

} // namespace
} // namespace fiber::e2e
