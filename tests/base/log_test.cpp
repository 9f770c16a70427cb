// SPDX-License-Identifier: Apache-2.0
// The promise: the log may be redirected while threads log; no record is lost or
// repeated.

#include "base/log.hpp"

#include <atomic>
#include <memory>
#include <thread>

#include <gtest/gtest.h>
#include <spdlog/sinks/base_sink.h>

namespace fiber {
namespace {

class Counter final : public spdlog::sinks::base_sink<std::mutex> {
public:
  std::atomic<int> records{0};

private:
  void sink_it_(const spdlog::details::log_msg&) override { ++records; }
  void flush_() override {}
};

TEST(Log, the_log_can_be_redirected_while_threads_log) {
  constexpr int threads = 4, each = 2000;
  auto first = std::make_shared<Counter>(), second = std::make_shared<Counter>();
  redirect_log(first);
  std::vector<std::thread> loggers;
  std::atomic<int> left{threads};
  for (int i = 0; i < threads; ++i)
    loggers.emplace_back([&] {
      for (int k = 0; k < each; ++k)
        log().error("{}", k);
      --left;
    });
  while (left > 0) {
    redirect_log(second);
    redirect_log(first);
  }
  for (auto& logger : loggers)
    logger.join();
  redirect_log(nullptr);
  EXPECT_EQ(first->records + second->records, threads * each);
}

TEST(Log, the_log_returns_to_its_original_sinks) {
  auto elsewhere = std::make_shared<Counter>();
  testing::internal::CaptureStderr();
  redirect_log(elsewhere);
  log().error("elsewhere");
  redirect_log(nullptr);
  log().error("here");
  auto text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(elsewhere->records, 1);
  EXPECT_EQ(text.find("elsewhere"), text.npos) << text;
  EXPECT_NE(text.find("here"), text.npos) << text;
  EXPECT_FALSE(log_is_the_programs());
}

} // namespace
} // namespace fiber
