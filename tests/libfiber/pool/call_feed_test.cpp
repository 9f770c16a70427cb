// SPDX-License-Identifier: Apache-2.0
// The promise: every submitted task ends, and a task that cannot be submitted is not
// added.

#include "fiber/detail/call_feed.hpp"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "fiber/session.hpp"
#include "libfiber/pool/feed_target.hpp"

namespace fiber::detail {
namespace {

std::string same(const std::string& text) {
  return text;
}

class CallFeedTest : public testing::Test {
protected:
  CallFeedTest() {
    auto arguments = 0;
    char** none = nullptr;
    session_.emplace(init(arguments, none, {.backend = "inline"}));
    core_ = PoolCore::make({.workers = 1});
  }

  static AnyCallable callable() { return AnyCallable::of<std::string, false>(&same); }

  std::optional<Session> session_;
  std::shared_ptr<PoolCore> core_;
};

TEST_F(CallFeedTest, arguments_that_are_too_large_to_be_sent_are_not_added) {
  auto results = std::make_shared<CallResults>(
    Keep::all, [core = core_] { return core->run_one(); }, [] {});
  auto call = std::make_shared<actors::Call>();
  call->id = 1;
  call->callable = callable();
  call->sink = results;
  CallFeed feed(std::make_unique<CallFeed::Target>(core_, call, results, nullptr, 100));
  feed.add(std::string("first"));
  EXPECT_THROW(feed.add(std::string(200, 'x')), Error);
  feed.add(std::string("second"));
  feed.finish();
  ASSERT_TRUE(results->wait_done(2, Results::forever));
  EXPECT_EQ(results->submitted(), 2U);
  auto second = results->at(1).value;
  Reader reader(second.bytes());
  EXPECT_EQ(unpack<std::string>(reader), "second");
}

TEST_F(CallFeedTest, tasks_that_come_after_the_end_of_the_session_end_too) {
  auto feed = core_->begin(callable(), {}, Keep::as_they_come, false);
  feed.add(std::string("before"));
  feed.flush();
  session_.reset();
  feed.add(std::string("after"));
  EXPECT_THROW(feed.flush(), Closed);
  auto& results = *feed.results();
  EXPECT_EQ(results.submitted(), 2U);
  EXPECT_EQ(results.done(), 2U);
}

} // namespace
} // namespace fiber::detail
