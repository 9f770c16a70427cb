// SPDX-License-Identifier: Apache-2.0
// The promise: an item that a dead consumer has taken and not finished goes to the next
// consumer, in its old order and not too often, or join() says that it is lost.
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "actors/queue/channel.hpp"

namespace fiber::actors {
namespace {

using What = Channel::TaskDone::What;

constexpr std::uint64_t driver = 0, a = 2, b = 3, home = 4;

/// A channel with the items "0", "1", ... in it.
class Redelivery : public testing::Test {
protected:
  Channel& open(Channel::Limits limits, int items) {
    channel_.emplace(
      limits,
      [this](const Asker& who) {
        auto known = recorded_.find(who);
        return known == recorded_.end() ? 0 : known->second;
      },
      home);
    for (int i = 0; i < items; ++i) {
      Bytes bytes;
      auto text = std::to_string(i);
      Writer(bytes).raw(text.data(), text.size());
      channel_->put({1, static_cast<std::uint64_t>(i) + 1},
                    {{}, Payload(std::move(bytes)), {}});
    }
    return *channel_;
  }
  Channel& open_redelivering(int items, int most = 3) {
    return open({.redeliver = true, .max_redeliveries = most}, items);
  }

  /// Asks for an item on behalf of the process. Returns it; empty if none came.
  std::string ask(std::uint64_t process) {
    last_ = {process, ++requests_};
    auto replies = channel_->get(last_, {});
    return replies.empty() || replies.front().what != Answer::value
             ? ""
             : text_of(replies.front().item);
  }
  /// The same, and the process takes the item.
  std::string take(std::uint64_t process) {
    auto item = ask(process);
    channel_->took(last_);
    return item;
  }
  /// The same so many times.
  std::string take(std::uint64_t process, int items) {
    std::string all;
    for (int i = 0; i < items; ++i)
      all += take(process);
    return all;
  }
  TakenKey last_key() const { return {last_.request, 0}; }
  /// The answer to a join of that process, if there is one now.
  std::optional<Channel::Reply> join(std::uint64_t process = driver) {
    Asker who{process, ++requests_};
    auto replies = channel_->join(who);
    if (replies.empty()) {
      channel_->cancel(who);
      return std::nullopt;
    }
    return replies.front();
  }
  bool is_done(std::uint64_t process = driver) {
    auto reply = join(process);
    return reply && reply->what == Answer::done;
  }
  /// What a join of the process is told to be lost: "JOB:ITEMS ...".
  std::string lost(std::uint64_t process = driver) {
    auto reply = join(process);
    if (!reply || reply->what != Answer::lost)
      return "";
    std::string all = std::to_string(reply->lost->items);
    for (auto& [job, items] : reply->lost->jobs)
      all += " " + job + ":" + std::to_string(items);
    return all;
  }
  static std::string text_of(const Item& item) {
    return {reinterpret_cast<const char*>(item.bytes.bytes().data()), item.bytes.size()};
  }

  std::optional<Channel> channel_;
  std::map<Asker, std::uint32_t> recorded_; ///< As in a ledger.
  Asker last_;
  std::uint64_t requests_ = 0;
};

TEST_F(Redelivery, gives_the_items_of_a_dead_consumer_first_and_in_order) {
  auto& channel = open_redelivering(5);
  EXPECT_EQ(take(a), "0");
  EXPECT_EQ(take(b), "1");
  EXPECT_EQ(take(a), "2");
  channel.gone(a);
  EXPECT_EQ(channel.size(), 4U);
  EXPECT_EQ(take(b, 4), "0234");
}

TEST_F(Redelivery, serves_a_consumer_that_waits) {
  auto& channel = open_redelivering(1);
  take(a);
  EXPECT_EQ(ask(b), "");
  auto replies = channel.gone(a);
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(text_of(replies.front().item), "0");
}

TEST_F(Redelivery, does_not_give_again_what_is_finished) {
  auto& channel = open_redelivering(2);
  take(a);
  EXPECT_EQ(channel.task_done(a, last_key()).what, What::done);
  take(a);
  channel.gone(a);
  EXPECT_EQ(take(b), "1");
  EXPECT_FALSE(join());
  EXPECT_EQ(channel.task_done(b, last_key()).what, What::done);
  EXPECT_TRUE(is_done());
}

TEST_F(Redelivery, finishes_the_item_that_is_named_else_the_oldest) {
  auto& channel = open_redelivering(4);
  take(a);
  take(a);
  auto second = last_key();
  take(a);
  EXPECT_EQ(channel.task_done(a, second).what, What::done);
  EXPECT_EQ(channel.task_done(a, second).what, What::too_often);
  EXPECT_EQ(channel.task_done(a).what, What::done);
  channel.gone(a);
  EXPECT_EQ(take(b, 2), "23");
}

TEST_F(Redelivery, finishes_what_only_the_ledger_says_to_be_taken) {
  auto& channel = open_redelivering(2);
  ask(a);
  EXPECT_EQ(channel.task_done(a, last_key()).what, What::done); // Names it.
  ask(a);
  EXPECT_EQ(channel.task_done(a).what, What::too_often);
  recorded_[last_] = 1;
  EXPECT_EQ(channel.task_done(a).what, What::done);
  EXPECT_TRUE(is_done());
}

TEST_F(Redelivery, gives_an_item_up_after_its_last_redelivery) {
  auto& channel = open_redelivering(2, 2);
  for (auto process : {10, 11}) {
    EXPECT_EQ(take(process), "0");
    channel.gone(process, nullptr, "job-" + std::to_string(process));
    EXPECT_FALSE(join());
  }
  EXPECT_EQ(take(12), "0");
  channel.gone(12, nullptr, "job-12");
  auto reply = join();
  ASSERT_TRUE(reply);
  ASSERT_EQ(reply->what, Answer::lost);
  EXPECT_EQ(reply->lost->items, 1U);
  EXPECT_EQ(reply->lost->redeliveries, 2);
  ASSERT_EQ(reply->lost->jobs.size(), 1U);
  EXPECT_EQ(reply->lost->jobs.front().first, "job-12");
  EXPECT_FALSE(join()); // Waits for the other item.
  EXPECT_EQ(take(b), "1");
  channel.task_done(b);
  EXPECT_TRUE(is_done());
}

TEST_F(Redelivery, charges_no_item_that_was_not_taken) {
  auto& channel = open_redelivering(1, 0);
  for (std::uint64_t process = 10; process < 15; ++process) {
    EXPECT_EQ(ask(process), "0");
    channel.gone(process);
  }
  EXPECT_EQ(take(b), "0");
}

TEST_F(Redelivery, without_a_limit_never_ends) {
  auto& channel = open_redelivering(1, -1);
  for (std::uint64_t process = 10; process < 60; ++process) {
    EXPECT_EQ(take(process), "0");
    channel.gone(process);
  }
  EXPECT_EQ(take(b), "0");
}

TEST_F(Redelivery, ends_a_closed_channel_only_when_nothing_can_come_back) {
  auto& channel = open_redelivering(2);
  take(a);
  channel.close();
  EXPECT_EQ(take(b), "1");
  EXPECT_EQ(ask(b), ""); // Waits for the item of `a`, not for its own.
  auto replies = channel.gone(a);
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(text_of(replies.front().item), "0");
  channel.took(last_);
  replies = channel.get({b, ++requests_}, {});
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies.front().what, Answer::closed);
}

TEST_F(Redelivery, ends_a_closed_channel_at_the_last_task_done) {
  auto& channel = open_redelivering(1);
  take(a);
  channel.close();
  EXPECT_EQ(ask(b), "");
  auto done = channel.task_done(a);
  ASSERT_EQ(done.replies.size(), 1U);
  EXPECT_EQ(done.replies.front().what, Answer::closed);
}

TEST_F(Redelivery, does_not_wait_for_items_that_can_not_come_back) {
  for (auto lasting : {driver, home}) {
    auto& channel = open_redelivering(1);
    take(lasting);
    channel.close();
    auto replies = channel.get({b, ++requests_}, {});
    ASSERT_EQ(replies.size(), 1U);
    EXPECT_EQ(replies.front().what, Answer::closed);
  }
  auto& channel = open_redelivering(1, 0);
  take(a);
  channel.close();
  auto replies = channel.get({b, ++requests_}, {});
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies.front().what, Answer::closed);
}

TEST_F(Redelivery, comes_before_what_others_have_prefetched) {
  auto& channel = open_redelivering(8);
  take(a);
  const Asker with_prefetch{b, 100};
  auto replies = channel.get(with_prefetch, {}, {.sole = 4, .quick = 4});
  ASSERT_EQ(replies.size(), 1U);
  ASSERT_EQ(replies.front().prefetched.size(), 4U);
  channel.took(with_prefetch);
  replies = channel.gone(a);
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies.front().to, with_prefetch);
  EXPECT_EQ(replies.front().what, Answer::recalled);
  channel.give_back(with_prefetch, 1);
  EXPECT_EQ(take(b, 3), "023");
}

TEST_F(Redelivery, ignores_a_task_done_of_a_process_that_has_lost_its_item) {
  auto& channel = open_redelivering(1);
  take(a);
  auto key = last_key();
  channel.gone(a);
  EXPECT_EQ(channel.task_done(a, key).what, What::late);
  EXPECT_EQ(take(b), "0");
  EXPECT_EQ(channel.task_done(a, key).what, What::late);
  EXPECT_FALSE(join());
  EXPECT_EQ(channel.task_done(b).what, What::done);
  EXPECT_EQ(channel.task_done(b).what, What::too_often);
  EXPECT_TRUE(is_done());
}

TEST_F(Redelivery, occupies_no_room_with_what_is_taken) {
  auto& channel = open({.items = 1, .puts_wait = true, .redeliver = true}, 1);
  take(a);
  EXPECT_EQ(channel.put({1, 2}, {}).size(), 1U);
  EXPECT_EQ(channel.put({1, 3}, {}).size(), 0U);
  channel.gone(a); // Comes back even though there is no room.
  EXPECT_EQ(channel.size(), 2U);
}

TEST_F(Redelivery, is_over_with_the_channel) {
  auto& channel = open_redelivering(1);
  take(a);
  channel.drop();
  channel.gone(a);
  EXPECT_EQ(channel.size(), 0U);
  auto reply = join();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->what, Answer::closed);
}

// -- without redelivery --

class LostWithConsumer : public Redelivery {};

TEST_F(LostWithConsumer, is_told_once_to_each_process_that_joins) {
  auto& channel = open({}, 6);
  for (auto process : {a, a, b})
    take(process);
  EXPECT_EQ(lost(), "");
  channel.gone(a, nullptr, "job-a");
  EXPECT_EQ(lost(), "2 job-a:2");
  EXPECT_EQ(lost(), ""); // Waits for the others.
  EXPECT_EQ(lost(7), "2 job-a:2");
  channel.gone(b);
  EXPECT_EQ(lost(), "1 process 3:1");
  EXPECT_EQ(lost(8), "3 job-a:2 process 3:1");
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(join());
    take(9);
    EXPECT_EQ(channel.task_done(9).what, What::done);
  }
  EXPECT_TRUE(is_done());
}

TEST_F(LostWithConsumer, wakes_all_who_wait_in_join) {
  auto& channel = open({}, 2);
  take(a);
  channel.join({driver, 100});
  channel.join({driver, 101});
  auto replies = channel.gone(a);
  ASSERT_EQ(replies.size(), 2U);
  for (auto& reply : replies)
    EXPECT_EQ(reply.what, Answer::lost);
}

TEST_F(LostWithConsumer, is_nothing_that_it_has_finished_or_not_taken) {
  auto& channel = open({}, 3);
  take(a);
  channel.task_done(a);
  ask(a);
  channel.gone(a);
  EXPECT_FALSE(join());
  EXPECT_EQ(take(b, 2), "12");
}

TEST_F(LostWithConsumer, includes_what_only_the_ledger_says_to_be_taken) {
  auto& channel = open({}, 1);
  ask(a);
  recorded_[last_] = 1;
  channel.gone(
    a, [this](const Asker& who) { return recorded_[who]; }, "job-a");
  EXPECT_EQ(lost(), "1 job-a:1");
}

TEST_F(LostWithConsumer, is_nothing_that_another_process_has_finished_for_it) {
  auto& channel = open({}, 3);
  take(a);
  take(a);
  EXPECT_EQ(channel.task_done(b).what, What::done);
  channel.gone(a);
  EXPECT_EQ(lost(), "1 process 2:1");
  take(b);
  EXPECT_EQ(channel.task_done(b).what, What::done);
  EXPECT_TRUE(is_done());
  EXPECT_EQ(channel.task_done(b).what, What::late); // For the lost one.
  EXPECT_EQ(channel.task_done(b).what, What::too_often);
}

TEST_F(LostWithConsumer, is_not_finished_in_place_of_an_item_that_waits) {
  auto& channel = open({}, 2);
  take(a); // And passes the item on to b.
  channel.gone(a);
  EXPECT_EQ(lost(), "1 process 2:1");
  EXPECT_EQ(channel.task_done(b).what, What::late);
  EXPECT_FALSE(join()) << "an item still waits";
  EXPECT_EQ(take(b), "1");
  EXPECT_EQ(channel.task_done(b).what, What::done);
  EXPECT_TRUE(is_done());
}

TEST_F(LostWithConsumer, is_counted_although_others_took_items_by_their_ledgers) {
  auto& channel = open({}, 11);
  take(a);
  for (int i = 0; i < 4; ++i) {
    take(b);
    channel.task_done(b);
  }
  const Asker many{b, 100}; // The fifth get in a row: b is the sole consumer.
  auto replies = channel.get(many, {}, {.sole = 5, .quick = 0});
  ASSERT_EQ(replies.front().prefetched.size(), 5U);
  recorded_[many] = 6; // It takes all six, and passes five of them on to another job.
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(channel.task_done(9).what, What::done);
  channel.gone(a);
  EXPECT_EQ(lost(), "1 process 2:1");
  EXPECT_EQ(channel.task_done(b).what, What::done);
  EXPECT_TRUE(is_done());
}

TEST_F(LostWithConsumer, counts_no_put_that_was_refused_twice) {
  auto& channel = open({.items = 1, .puts_wait = true}, 2); // The second waits for room.
  take(a);
  EXPECT_EQ(channel.put({1, 9}, {}).size(), 0U);
  for (int i = 0; i < 3; ++i) // Once too often.
    EXPECT_EQ(channel.task_done(a).what, What::done);
  channel.close();
  EXPECT_TRUE(is_done());
}

TEST_F(LostWithConsumer, does_not_finish_the_items_of_others_when_it_is_late) {
  auto& channel = open({}, 2);
  take(a);
  take(b);
  channel.gone(a);
  lost();
  EXPECT_EQ(channel.task_done(a).what, What::late);
  EXPECT_FALSE(join());
  EXPECT_EQ(channel.task_done(b).what, What::done);
  EXPECT_TRUE(is_done());
}

TEST_F(LostWithConsumer, is_named_for_the_last_few_only) {
  auto& channel = open({}, 20);
  for (std::uint64_t process = 10; process < 30; ++process) {
    take(process);
    channel.gone(process, nullptr, "j" + std::to_string(process));
  }
  EXPECT_EQ(lost(), "20 j22:1 j23:1 j24:1 j25:1 j26:1 j27:1 j28:1 j29:1");
}

} // namespace
} // namespace fiber::actors
