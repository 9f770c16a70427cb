// SPDX-License-Identifier: Apache-2.0
// The promise: nothing that is put into a channel is lost, doubled or out of order,
// whoever dies when; and everybody is answered once.
#include "actors/channel.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace fiber::actors {
namespace {

Item item(const std::string& text, std::string type = {}) {
  Bytes bytes;
  Writer writer(bytes);
  writer.raw(text.data(), text.size());
  return {std::move(type), Payload(std::move(bytes)), {}};
}
std::string text_of(const Item& item) {
  return {reinterpret_cast<const char*>(item.bytes.bytes().data()), item.bytes.size()};
}

/// As "to.request:answer", those of values with the item.
std::string told(const Channel::Replies& replies) {
  constexpr std::array names{"done",    "value",  "closed", "cancelled", "other_type",
                             "refused", "failed", "lost",   "values",    "recalled"};
  std::string all;
  for (auto& reply : replies) {
    all += (all.empty() ? "" : " ") + std::to_string(reply.to.process) + "." +
           std::to_string(reply.to.request) + ":";
    all += reply.what == Answer::value ? text_of(reply.item)
           : reply.what == Answer::other_type
             ? "not " + reply.item.type
             : names.at(static_cast<std::size_t>(reply.what));
    for (auto& item : reply.ahead)
      all += "+" + text_of(item);
  }
  return all;
}

constexpr Asker put1{1, 1}, put2{1, 2}, put3{1, 3}, get1{2, 1}, get2{3, 1}, get3{2, 2};

TEST(Channel, gives_items_in_the_order_in_which_they_came) {
  Channel channel({});
  EXPECT_EQ(told(channel.put(put1, item("a"))), "1.1:done");
  EXPECT_EQ(told(channel.put(put2, item("b"))), "1.2:done");
  EXPECT_EQ(channel.size(), 2U);
  EXPECT_EQ(told(channel.get(get1, {})), "2.1:a");
  EXPECT_EQ(told(channel.get(get2, {})), "3.1:b");
}

TEST(Channel, serves_those_who_wait_in_turn) {
  Channel channel({});
  EXPECT_EQ(told(channel.get(get1, {})), "");
  EXPECT_EQ(told(channel.get(get2, {})), "");
  EXPECT_EQ(told(channel.put(put1, item("a"))), "1.1:done 2.1:a");
  EXPECT_EQ(told(channel.get(get3, {})), "");
  EXPECT_EQ(told(channel.put(put2, item("b"))), "1.2:done 3.1:b");
}

TEST(Channel, lets_a_put_wait_for_room) {
  Channel channel({.items = 1, .puts_wait = true});
  EXPECT_EQ(told(channel.put(put1, item("a"))), "1.1:done");
  EXPECT_EQ(told(channel.put(put2, item("b"))), "");
  EXPECT_EQ(channel.size(), 1U);
  EXPECT_EQ(told(channel.get(get1, {})), "2.1:a 1.2:done");
}

TEST(Channel, counts_what_it_takes_to_keep_an_item) {
  Channel channel({.bytes = 10 * Item::item_overhead});
  for (std::uint64_t i = 1; i <= 10; ++i)
    EXPECT_NE(told(channel.put({1, i}, item(""))), "");
  EXPECT_EQ(told(channel.put({1, 11}, item(""))), "");
}

TEST(Channel, takes_one_item_of_any_size) {
  Channel channel({.bytes = 2});
  EXPECT_EQ(told(channel.put(put1, item("long"))), "1.1:done");
  EXPECT_EQ(told(channel.put(put2, item("b"))), "");
  EXPECT_EQ(told(channel.get(get1, {})), "2.1:long 1.2:done");
}

TEST(Channel, lets_nobody_pass_who_waits_for_room) {
  Channel channel({.bytes = 2 * Item::item_overhead + 3});
  channel.put(put1, item("aa"));
  EXPECT_EQ(told(channel.put(put2, item("bb"))), "");
  EXPECT_EQ(told(channel.put(put3, item("c"))), "");
  EXPECT_EQ(told(channel.get(get1, {})), "2.1:aa 1.2:done 1.3:done");
  EXPECT_EQ(told(channel.get(get2, {})), "3.1:bb");
}

TEST(Channel, puts_back_what_a_dead_consumer_had_not_taken_over) {
  Channel channel({});
  for (auto [who, text] : {std::pair{put1, "a"}, {put2, "b"}, {put3, "c"}})
    channel.put(who, item(text));
  channel.get(get1, {});
  channel.get(get3, {});
  channel.took(get1);
  EXPECT_EQ(told(channel.gone(2)), "");
  EXPECT_EQ(told(channel.get(get2, {})), "3.1:b");
  EXPECT_EQ(told(channel.get({3, 2}, {})), "3.2:c");
}

TEST(Channel, gives_what_came_back_to_who_waits) {
  Channel channel({});
  channel.put(put1, item("a"));
  channel.get(get1, {});
  EXPECT_EQ(told(channel.get(get2, {})), "");
  EXPECT_EQ(told(channel.gone(2)), "3.1:a");
}

TEST(Channel, keeps_what_a_dead_producer_has_put) {
  Channel channel({.bytes = 1});
  channel.put(put1, item("a"));
  channel.put(put2, item("b"));
  EXPECT_EQ(told(channel.gone(1)), "");
  EXPECT_EQ(told(channel.get(get1, {})), "2.1:a 1.2:done");
  EXPECT_EQ(told(channel.get(get3, {})), "2.2:b");
}

TEST(Channel, drops_what_a_dead_producer_had_no_room_for) {
  Channel channel({.items = 1, .puts_wait = true});
  channel.put(put1, item("a"));
  channel.put(put2, item("b"));
  channel.gone(1);
  EXPECT_EQ(told(channel.get(get1, {})), "2.1:a");
  EXPECT_EQ(told(channel.get(get3, {})), "");
}

TEST(Channel, forgets_a_cancelled_request) {
  Channel channel({.items = 1, .puts_wait = true});
  channel.get(get1, {});
  EXPECT_EQ(told(channel.cancel(get1)), "2.1:cancelled");
  channel.put(put1, item("a"));
  channel.put(put2, item("b"));
  EXPECT_EQ(told(channel.cancel(put2)), "1.2:cancelled");
  EXPECT_EQ(told(channel.get(get2, {})), "3.1:a");
  EXPECT_EQ(channel.size(), 0U);
}

TEST(Channel, leaves_a_request_alone_that_was_answered_before_it_was_cancelled) {
  Channel channel({});
  channel.put(put1, item("a"));
  EXPECT_EQ(told(channel.get(get1, {})), "2.1:a");
  EXPECT_EQ(told(channel.cancel(get1)), "");
}

TEST(Channel, drains_when_it_is_closed) {
  Channel channel({});
  channel.put(put1, item("a"));
  EXPECT_EQ(told(channel.close()), "");
  EXPECT_EQ(told(channel.put(put2, item("b"))), "1.2:closed");
  EXPECT_EQ(told(channel.get(get1, {})), "2.1:a");
  EXPECT_EQ(told(channel.get(get2, {})), ""); // It may come back.
  EXPECT_EQ(told(channel.took(get1)), "3.1:closed");
}

TEST(Channel, refuses_puts_that_wait_when_it_is_closed) {
  Channel channel({.items = 1, .puts_wait = true});
  channel.put(put1, item("a"));
  channel.put(put2, item("b"));
  EXPECT_EQ(told(channel.close()), "1.2:closed");
}

TEST(Channel, answers_everybody_when_nobody_will_get_anything) {
  Channel channel({.bytes = 1});
  channel.put(put1, item("a"));
  channel.put(put2, item("b"));
  channel.join({4, 1});
  EXPECT_EQ(told(channel.drop()), "1.2:closed 4.1:closed");
  EXPECT_EQ(told(channel.get(get1, {})), "2.1:closed");
}

TEST(Channel, leaves_an_item_of_another_type_where_it_is) {
  Channel channel({});
  channel.put(put1, item("a", "int"));
  EXPECT_EQ(told(channel.get(get1, "double")), "2.1:not int");
  EXPECT_EQ(told(channel.get(get3, "int")), "2.2:a");
}

TEST(Channel, tells_of_an_item_without_giving_it) {
  Channel channel({});
  EXPECT_EQ(told(channel.poll(get1)), "");
  EXPECT_EQ(told(channel.put(put1, item("a"))), "1.1:done 2.1:done");
  EXPECT_EQ(channel.size(), 1U);
}

TEST(Channel, joins_when_all_is_done) {
  Channel channel({});
  channel.put(put1, item("a"));
  channel.put(put2, item("b"));
  EXPECT_EQ(told(channel.join(get1)), "");
  EXPECT_EQ(told(*channel.task_done()), "");
  EXPECT_EQ(told(*channel.task_done()), "2.1:done");
  EXPECT_FALSE(channel.task_done());
}

TEST(Channel, sends_items_ahead_while_nobody_else_waits) {
  Channel channel({.alone = 0});
  for (std::uint64_t i = 0; i < 4; ++i)
    channel.put({1, i}, item(std::string(1, static_cast<char>('a' + i))));
  EXPECT_EQ(told(channel.get(get1, {}, 2)), "2.1:a+b+c");
  EXPECT_EQ(channel.size(), 3U); // What was not asked for can be got by others.
}

TEST(Channel, sends_nothing_ahead_to_who_was_alone_for_too_short_a_time) {
  Channel channel({.alone = 2});
  for (std::uint64_t i = 0; i < 6; ++i)
    channel.put({1, i}, item(std::string(1, static_cast<char>('a' + i))));
  EXPECT_EQ(told(channel.get({2, 1}, {}, 2)), "2.1:a");
  EXPECT_EQ(told(channel.get({3, 2}, {}, 2)), "3.2:b");
  EXPECT_EQ(told(channel.get({3, 3}, {}, 2)), "3.3:c");
  EXPECT_EQ(told(channel.get({3, 4}, {}, 1)), "3.4:d+e");
}

TEST(Channel, gives_nobody_later_items_than_those_it_has_recalled) {
  Channel channel({.alone = 0});
  for (std::uint64_t i = 0; i < 4; ++i)
    channel.put({1, i}, item(std::string(1, static_cast<char>('a' + i))));
  EXPECT_EQ(told(channel.get(get1, {}, 2)), "2.1:a+b+c");
  EXPECT_EQ(told(channel.get(get2, {}, 2)), "2.1:recalled"); // Though d is there.
  EXPECT_EQ(told(channel.give_back(get1, 2)), "3.1:c");
}

TEST(Channel, recalls_what_it_has_sent_ahead_for_who_waits) {
  Channel channel({.alone = 0});
  for (auto [who, text] : {std::pair{put1, "a"}, {put2, "b"}, {put3, "c"}})
    channel.put(who, item(text));
  channel.get(get1, {}, 5);
  channel.took(get1);
  EXPECT_EQ(told(channel.get(get2, {})), "2.1:recalled");
  EXPECT_EQ(told(channel.get({3, 2}, {})), ""); // Once.
  channel.took(get1, 1);
  EXPECT_EQ(told(channel.give_back(get1, 2)), "3.1:c");
  EXPECT_EQ(channel.size(), 0U);
}

TEST(Channel, does_not_cancel_who_waits_for_what_was_recalled) {
  Channel channel({.alone = 0});
  channel.put(put1, item("a"));
  channel.put(put2, item("b"));
  channel.get(get1, {}, 5);
  EXPECT_EQ(told(channel.get(get2, {})), "2.1:recalled");
  EXPECT_EQ(told(channel.cancel(get2)), "");
  EXPECT_EQ(told(channel.give_back(get1, 1)), "3.1:b");
  channel.get({3, 2}, {});
  EXPECT_EQ(told(channel.cancel({3, 2})), "3.2:cancelled");
}

TEST(Channel, cancels_when_nothing_has_come_back) {
  Channel channel({.alone = 0});
  channel.put(put1, item("a"));
  channel.put(put2, item("b"));
  channel.get(get1, {}, 5);
  channel.get(get2, {});
  EXPECT_EQ(told(channel.cancel(get2)), "");
  EXPECT_EQ(told(channel.took(get1, 1)), "3.1:cancelled");
  EXPECT_EQ(told(channel.give_back(get1, SIZE_MAX)), "");
}

TEST(Channel, recalls_for_who_asks_whether_there_is_anything) {
  Channel channel({.alone = 0});
  channel.put(put1, item("a"));
  channel.put(put2, item("b"));
  channel.get(get1, {}, 5);
  EXPECT_EQ(told(channel.poll(get2)), "2.1:recalled");
  EXPECT_EQ(told(channel.give_back(get1, 1)), "3.1:done");
  EXPECT_EQ(told(channel.get(get2, {})), "3.1:b");
}

TEST(Channel, puts_back_what_a_dead_consumer_was_sent_ahead) {
  Channel channel({.alone = 0});
  for (auto [who, text] : {std::pair{put1, "a"}, {put2, "b"}, {put3, "c"}})
    channel.put(who, item(text));
  channel.get(get1, {}, 5);
  channel.took(get1);
  channel.took(get1, 1);
  channel.gone(2);
  EXPECT_EQ(told(channel.get(get2, {}, 5)), "3.1:c");
}

TEST(Channel, has_no_room_for_what_was_sent_ahead) {
  Channel channel({.items = 2, .puts_wait = true, .alone = 0});
  channel.put(put1, item("a"));
  channel.put(put2, item("b"));
  EXPECT_EQ(told(channel.get(get1, {}, 5)), "2.1:a+b");
  EXPECT_EQ(told(channel.put(put3, item("c"))), "1.3:done");
  EXPECT_EQ(told(channel.put({1, 4}, item("d"))), "");
  EXPECT_EQ(told(channel.took(get1, 1)), "1.4:done");
}

TEST(Channel, sends_nothing_of_another_type_ahead) {
  Channel channel({.alone = 0});
  channel.put(put1, item("a", "int"));
  channel.put(put2, item("b", "double"));
  EXPECT_EQ(told(channel.get(get1, "int", 5)), "2.1:a");
}

TEST(Channel, waits_at_its_end_for_what_was_sent_ahead) {
  Channel channel({.alone = 0});
  channel.put(put1, item("a"));
  channel.put(put2, item("b"));
  channel.get(get1, {}, 5);
  channel.took(get1);
  EXPECT_EQ(told(channel.close()), "");
  EXPECT_EQ(told(channel.get(get2, {})), "2.1:recalled");
  EXPECT_EQ(told(channel.took(get1, 1)), "3.1:closed");
}

/// Producers and consumers that do anything at any time, and die.
class History {
public:
  explicit History(unsigned seed)
    : random_(seed), channel_({.items = draw(4) == 0 ? std::size_t{2} : SIZE_MAX,
                               .bytes = draw(3) == 0 ? std::size_t{40} : 100000,
                               .puts_wait = draw(2) == 0,
                               .alone = draw(3)}) {}

  void run() {
    for (int step = 0; step < 300; ++step)
      act();
    // In the end one consumer that lives takes what is left.
    for (auto process : consumers_)
      hear(channel_.gone(process));
    waiting_gets_.clear();
    taken_.clear();
    ahead_.clear();
    hear(channel_.close());
    constexpr std::uint64_t last = 1000;
    std::uint64_t request = 0;
    while (!closed_for_.contains({last, request})) {
      while (!ahead_.empty())
        take_ahead(last);
      waiting_gets_.insert({last, ++request});
      hear(channel_.get({last, request}, {}, draw(4)));
      obey_recalls();
      ASSERT_FALSE(waiting_gets_.contains({last, request})) << "it hangs";
      take({{last, request}, 0});
    }
    check();
  }

private:
  unsigned draw(unsigned n) { return static_cast<unsigned>(random_() % n); }

  void obey_recalls() {
    for (auto& who : std::exchange(recalled_, {}))
      give_back(who);
  }

  void act() {
    if (draw(3) == 0)
      obey_recalls();
    auto process = consumers_.at(draw(3));
    switch (draw(8)) {
    case 0:
    case 1:
    case 2: {
      Asker who{1 + draw(3), ++requests_};
      auto number = ++put_[who.process];
      waiting_puts_[who] = {who.process, number};
      return hear(channel_.put(
        who, item(std::to_string(who.process) + " " + std::to_string(number))));
    }
    case 3:
    case 4: {
      if (take_ahead(process))
        return;
      Asker who{process, ++requests_};
      waiting_gets_.insert(who);
      return hear(channel_.get(who, {}, draw(2) * draw(5)));
    }
    case 5:
      if (!taken_.empty())
        take(taken_.begin()->first);
      return;
    case 6:
      if (!waiting_gets_.empty())
        hear(channel_.cancel(*waiting_gets_.begin()));
      return;
    default:
      if (draw(5) > 0)
        return;
      // Its successor has another number.
      std::erase_if(waiting_gets_, [&](auto& who) { return who.process == process; });
      auto is_its = [&](auto& each) { return each.first.first.process == process; };
      std::erase_if(taken_, is_its);
      std::erase_if(ahead_, is_its);
      *std::find(consumers_.begin(), consumers_.end(), process) = ++last_process_;
      hear(channel_.gone(process));
    }
  }

  using Handed = std::pair<Asker, std::size_t>;

  void take(Handed as) {
    if (auto taken = taken_.find(as); taken != taken_.end()) {
      got_.push_back(taken->second);
      taken_.erase(taken);
      hear(channel_.took(as.first, as.second));
    }
  }
  /// Asks that process for nothing, as it has something. False if it has not.
  bool take_ahead(std::uint64_t process) {
    auto first = ahead_.lower_bound({{process, 0}, 0});
    if (first == ahead_.end() || first->first.first.process != process)
      return false;
    auto as = first->first;
    taken_.insert(*first);
    ahead_.erase(first);
    take(as);
    return true;
  }
  /// As its process does, which may have begun to take some of them.
  void give_back(const Asker& who) {
    auto first = ahead_.lower_bound({who, 0});
    auto any = first != ahead_.end() && first->first.first == who;
    auto index = any ? first->first.second : SIZE_MAX;
    std::erase_if(ahead_, [&](auto& each) { return each.first.first == who; });
    hear(channel_.give_back(who, index));
  }

  void hear(const Channel::Replies& replies) {
    for (auto& reply : replies) {
      if (reply.what == Answer::recalled) {
        recalled_.push_back(reply.to);
        continue;
      }
      if (auto put = waiting_puts_.find(reply.to); put != waiting_puts_.end()) {
        if (reply.what == Answer::done)
          accepted_.insert(put->second);
        waiting_puts_.erase(put);
        continue;
      }
      ASSERT_EQ(waiting_gets_.erase(reply.to), 1U) << "answered twice";
      if (reply.what == Answer::value) {
        check_is_first(taken_[{reply.to, 0}] = text_of(reply.item));
        for (auto& item : reply.ahead)
          ahead_[{reply.to, ++last_ahead_[reply.to]}] = text_of(item);
      } else if (reply.what == Answer::closed)
        closed_for_.insert(reply.to);
    }
  }

  /// All that its producer put before was handed out before.
  void check_is_first(const std::string& text) {
    auto process = std::stoull(text), number = std::stoull(text.substr(2));
    for (auto before = accepted_.lower_bound({process, 0});
         before != accepted_.lower_bound({process, number}); ++before) {
      auto name = std::to_string(process) + " " + std::to_string(before->second);
      auto is_it = [&](auto& each) { return each.second == name; };
      EXPECT_TRUE(std::find(got_.begin(), got_.end(), name) != got_.end() ||
                  std::any_of(taken_.begin(), taken_.end(), is_it) ||
                  std::any_of(ahead_.begin(), ahead_.end(), is_it))
        << text << " came before " << name;
    }
  }

  void check() {
    std::set<std::pair<std::uint64_t, std::uint64_t>> got;
    for (auto& text : got_) {
      auto process = std::stoull(text), number = std::stoull(text.substr(2));
      EXPECT_TRUE(got.insert({process, number}).second) << text << " came twice";
    }
    EXPECT_EQ(got, accepted_);
  }

  std::mt19937 random_;
  Channel channel_;
  std::uint64_t requests_ = 0, last_process_ = 12;
  std::vector<std::uint64_t> consumers_{10, 11, 12};
  std::map<std::uint64_t, std::uint64_t> put_;
  std::map<Asker, std::pair<std::uint64_t, std::uint64_t>> waiting_puts_;
  std::set<Asker> waiting_gets_, closed_for_;
  std::map<Handed, std::string> taken_; ///< Answered, and not taken over.
  std::map<Handed, std::string> ahead_; ///< The same, not asked for.
  std::map<Asker, std::size_t> last_ahead_;
  std::vector<Asker> recalled_; ///< And not heard of it yet.
  std::set<std::pair<std::uint64_t, std::uint64_t>> accepted_;
  std::vector<std::string> got_;
};

TEST(Channel, loses_and_doubles_nothing_in_ten_thousand_histories) {
  for (unsigned seed = 1; seed <= 10000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    History(seed).run();
  }
}

} // namespace
} // namespace fiber::actors
