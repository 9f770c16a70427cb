// SPDX-License-Identifier: Apache-2.0
// The promise: the outcome of a single call reaches the threads that wait for it, and the
// functions that want to know.

#include "libfiber/results/one_result.hpp"

#include <thread>

#include <gtest/gtest.h>

#include "fiber/value.hpp"

namespace fiber::detail {
namespace {

class Call final : public OneResult {
public:
  Call() : OneResult(std::make_unique<WaitPoint>(nullptr, nullptr)) {}
  void cancel() override {}
};

RawOutcome value(int number) {
  Bytes bytes;
  Writer writer(bytes);
  pack(writer, number);
  return {Payload(std::move(bytes)), nullptr};
}

int number_in(const RawOutcome& outcome) {
  Reader reader(outcome.value.bytes());
  return unpack<int>(reader);
}

TEST(OneResult, a_waiting_thread_wakes_for_it) {
  Call call;
  std::thread other([&] { call.set(value(7)); });
  EXPECT_TRUE(call.wait_done(1, Results::forever));
  EXPECT_EQ(number_in(call.at(0)), 7);
  other.join();
}

TEST(OneResult, a_time_limit_is_kept) {
  Call call;
  EXPECT_FALSE(call.wait_index(0, Results::Clock::now() + std::chrono::milliseconds(1)));
  EXPECT_EQ(call.done(), 0U);
}

TEST(OneResult, its_end_is_announced_once_to_each) {
  Call call;
  int before = 0, after = 0;
  call.on_end([&] {
    ++before;
    EXPECT_EQ(number_in(call.at(0)), 7);
  });
  EXPECT_EQ(before, 0);
  call.set(value(7));
  EXPECT_EQ(before, 1);
  call.on_end([&] { ++after; });
  EXPECT_EQ(before, 1);
  EXPECT_EQ(after, 1);
}

} // namespace
} // namespace fiber::detail
