// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <fiber/config.hpp>
#include <fiber/pool.hpp>
#include <fiber/session.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/support/notes.hpp"
#include "tests/e2e/support/processes.hpp"

namespace fiber::e2e {

/// One test's session.
class SessionTest : public testing::Test {
protected:
  ~SessionTest() override;

  /// Opens the session. Output of jobs is kept off the test's own unless asked for.
  void open(Config config = {});
  /// Opens it, and returns the error of a pool. No error is a failure of the test.
  std::string start_error(const Config& config);
  /// Ends it, and checks that no process of it is left.
  void close();
  const std::string& mark() const { return scratch_.mark(); }
  const std::filesystem::path& folder() const { return scratch_.folder(); }

  /// The pool still does its work, with all of its workers.
  static void expect_works(Pool& pool, std::size_t workers);
  /// Waits until the pool knows of that many lost workers.
  static bool await_lost(const Pool& pool, std::size_t workers);
  /// The jobs once there are `n` of them.
  std::vector<pid_t> await_jobs(std::size_t n) const;

private:
  Scratch scratch_;
  std::optional<Session> session_;
};

} // namespace fiber::e2e
