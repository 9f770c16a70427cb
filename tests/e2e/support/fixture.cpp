// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/support/fixture.hpp"

#include <utility>

namespace fiber::e2e {

SessionTest::~SessionTest() {
  close();
}

void SessionTest::open(Config config) {
  if (!config.forward_output)
    config.forward_output = false;
  if (!config.log_level)
    config.log_level = "error";
  auto arguments = 0;
  char** none = nullptr;
  session_.emplace(init(arguments, none, std::move(config)));
}

std::string SessionTest::start_error(const Config& config) {
  try {
    open(config);
    Pool pool(1);
    pool.map(f, indices(1));
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "it works";
  return "";
}

void SessionTest::close() {
  if (!session_)
    return;
  session_.reset();
  EXPECT_TRUE(wait_until([&] { return marked(mark()).empty(); }))
    << marked(mark()).size() << " processes are left";
}

void SessionTest::expect_works(Pool& pool, std::size_t workers) {
  EXPECT_EQ(pool.map(f, indices(100)), undisturbed(100));
  EXPECT_TRUE(pool.wait_until_workers_up(deadline));
  EXPECT_TRUE(wait_until([&] { return pool.stats().workers == workers; }));
}

bool SessionTest::await_lost(const Pool& pool, std::size_t workers) {
  return wait_until([&] { return pool.stats().workers_lost >= workers; });
}

std::vector<pid_t> SessionTest::await_jobs(std::size_t n) const {
  std::vector<pid_t> pids;
  wait_until([&] { return (pids = jobs(mark())).size() == n; });
  return pids;
}

} // namespace fiber::e2e
