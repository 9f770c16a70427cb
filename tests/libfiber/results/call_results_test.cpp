// SPDX-License-Identifier: Apache-2.0
// The promise: each outcome reaches the threads that wait for it, once for each index.

#include "libfiber/results/call_results.hpp"

#include <thread>

#include <gtest/gtest.h>

#include "fiber/error.hpp"
#include "fiber/value.hpp"

namespace fiber::detail {
namespace {

actors::Completion value(std::size_t index, int number) {
  Bytes bytes;
  Writer writer(bytes);
  pack(writer, number);
  return {index, {Payload(std::move(bytes)), nullptr}};
}

int number(const RawOutcome& outcome) {
  Reader reader(outcome.value.bytes());
  return unpack<int>(reader);
}

std::shared_ptr<CallResults> make(Keep keep) {
  return std::make_shared<CallResults>(keep, nullptr, [] {});
}

TEST(CallResults, a_waiting_thread_wakes_for_its_index) {
  auto results = make(Keep::all);
  results->add_submitted(3);
  std::thread pool([&] {
    results->deliver({value(2, 20)});
    results->deliver({value(0, 0), value(1, 10)});
  });
  EXPECT_TRUE(results->wait_index(1, Results::forever));
  EXPECT_EQ(number(results->at(1)), 10);
  EXPECT_TRUE(results->wait_done(3, Results::forever));
  pool.join();
}

TEST(CallResults, a_time_limit_is_kept) {
  auto results = make(Keep::all);
  results->add_submitted(1);
  EXPECT_FALSE(
    results->wait_index(0, Results::Clock::now() + std::chrono::milliseconds(1)));
}

TEST(CallResults, an_index_counts_once) {
  auto results = make(Keep::all);
  results->add_submitted(1);
  results->deliver({value(0, 1)});
  results->deliver({value(0, 2)});
  EXPECT_EQ(results->done(), 1U);
  EXPECT_EQ(number(results->at(0)), 1);
}

TEST(CallResults, in_order_results_are_taken_by_index_and_freed) {
  auto results = make(Keep::in_order);
  results->add_submitted(2);
  results->deliver({value(1, 10), value(0, 0)});
  EXPECT_EQ(number(results->take(0)), 0);
  EXPECT_EQ(number(results->take(1)), 10);
}

TEST(CallResults, unordered_results_are_taken_as_they_come) {
  auto results = make(Keep::as_they_come);
  results->add_submitted(2);
  results->deliver({value(1, 10)});
  EXPECT_EQ(results->take_any()->first, 1U);
  results->deliver({value(0, 0)});
  EXPECT_EQ(results->take_any()->first, 0U);
}

TEST(CallResults, the_end_of_the_pool_ends_all_waits) {
  for (auto keep : {Keep::all, Keep::as_they_come}) {
    auto results = make(keep);
    results->add_submitted(3);
    results->deliver({value(0, 1)});
    results->fail_missing(std::make_exception_ptr(Closed("gone")));
    EXPECT_TRUE(results->wait_done(3, Results::forever));
    EXPECT_EQ(results->done(), 3U);
  }
}

TEST(CallResults, results_after_the_end_of_the_pool_are_ignored) {
  for (auto keep : {Keep::all, Keep::in_order, Keep::as_they_come}) {
    auto results = make(keep);
    results->add_submitted(2);
    results->fail_missing(std::make_exception_ptr(Closed("gone")));
    results->deliver({value(0, 1), value(1, 2)}); // As from a journal.
    EXPECT_EQ(results->done(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
      auto error = keep == Keep::as_they_come ? results->take_any()->second.error
                                              : results->take(i).error;
      EXPECT_THROW(std::rethrow_exception(error), Closed);
    }
  }
}

} // namespace
} // namespace fiber::detail
