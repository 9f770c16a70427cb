// SPDX-License-Identifier: Apache-2.0
// The promise: nothing that is put into a channel is lost, doubled or out of order,
// whoever dies when; and everybody is answered once.
#include "actors/queue/channel.hpp"

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
  constexpr std::array names{"done",     "value",  "closed",   "cancelled", "other_type",
                             "refused",  "failed", "lost",     "values",    "unbegun",
                             "recalled", "room",   "reclaimed"};
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
  EXPECT_EQ(told(channel.get(get1, {}, {.most = 2})), "2.1:a+b+c");
  EXPECT_EQ(channel.size(), 3U); // What was not asked for can be got by others.
}

TEST(Channel, sends_nothing_ahead_to_who_was_alone_for_too_short_a_time) {
  Channel channel({.alone = 2});
  for (std::uint64_t i = 0; i < 6; ++i)
    channel.put({1, i}, item(std::string(1, static_cast<char>('a' + i))));
  EXPECT_EQ(told(channel.get({2, 1}, {}, {.most = 2})), "2.1:a");
  EXPECT_EQ(told(channel.get({3, 2}, {}, {.most = 2})), "3.2:b");
  EXPECT_EQ(told(channel.get({3, 3}, {}, {.most = 2})), "3.3:c");
  EXPECT_EQ(told(channel.get({3, 4}, {}, {.most = 1})), "3.4:d+e");
}

TEST(Channel, gives_nobody_later_items_than_those_it_has_recalled) {
  Channel channel({.alone = 0});
  for (std::uint64_t i = 0; i < 4; ++i)
    channel.put({1, i}, item(std::string(1, static_cast<char>('a' + i))));
  EXPECT_EQ(told(channel.get(get1, {}, {.most = 2})), "2.1:a+b+c");
  EXPECT_EQ(told(channel.get(get2, {}, {.most = 2})),
            "2.1:recalled"); // Though d is there.
  EXPECT_EQ(told(channel.give_back(get1, 2)), "3.1:c");
}

TEST(Channel, recalls_what_it_has_sent_ahead_for_who_waits) {
  Channel channel({.alone = 0});
  for (auto [who, text] : {std::pair{put1, "a"}, {put2, "b"}, {put3, "c"}})
    channel.put(who, item(text));
  channel.get(get1, {}, {.most = 5});
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
  channel.get(get1, {}, {.most = 5});
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
  channel.get(get1, {}, {.most = 5});
  channel.get(get2, {});
  EXPECT_EQ(told(channel.cancel(get2)), "");
  EXPECT_EQ(told(channel.took(get1, 1)), "3.1:cancelled");
  EXPECT_EQ(told(channel.give_back(get1, SIZE_MAX)), "");
}

TEST(Channel, recalls_for_who_asks_whether_there_is_anything) {
  Channel channel({.alone = 0});
  channel.put(put1, item("a"));
  channel.put(put2, item("b"));
  channel.get(get1, {}, {.most = 5});
  EXPECT_EQ(told(channel.poll(get2)), "2.1:recalled");
  EXPECT_EQ(told(channel.give_back(get1, 1)), "3.1:done");
  EXPECT_EQ(told(channel.get(get2, {})), "3.1:b");
}

TEST(Channel, sends_each_of_several_what_it_takes_in_no_time) {
  Channel channel({});
  for (std::uint64_t i = 0; i < 8; ++i)
    channel.put({1, i}, item(std::string(1, static_cast<char>('a' + i))));
  EXPECT_EQ(told(channel.get(get1, {}, {.quick = 1})), "2.1:a+b");
  EXPECT_EQ(told(channel.get(get2, {}, {.quick = 5})), ""); // Waits for who is quick.
  EXPECT_EQ(told(channel.get({4, 1}, {}, {.quick = 5})), "");
  // Leaves the others who wait their shares.
  EXPECT_EQ(told(channel.took_first(get1, 2)), "3.1:c+d+e");
  EXPECT_EQ(told(channel.took_first(get2, 3)), "4.1:f+g+h");
}

TEST(Channel, recalls_from_who_is_not_as_quick_as_it_said) {
  Channel channel({.alone = 1});
  for (std::uint64_t i = 0; i < 5; ++i)
    channel.put({1, i}, item(std::string(1, static_cast<char>('a' + i))));
  std::vector<Asker> to_tell;
  EXPECT_EQ(told(channel.get(get1, {}, {.quick = 2})), "2.1:a+b+c");
  EXPECT_FALSE(channel.waits_for_quick());
  EXPECT_EQ(told(channel.get(get2, {})), "");
  EXPECT_TRUE(channel.waits_for_quick());
  EXPECT_EQ(told(channel.press(to_tell)), ""); // It may have been sent just now.
  EXPECT_EQ(told(channel.press(to_tell)), "2.1:recalled");
  EXPECT_FALSE(channel.waits_for_quick());
  EXPECT_EQ(told(channel.give_back(get1, 1)), "3.1:b");
  // Who is alone is sent items no later for that.
  EXPECT_EQ(told(channel.get({3, 2}, {}, {.most = 2})), "3.2:c+d+e");
}

TEST(Channel, recalls_from_who_is_quick_for_who_waits_no_longer) {
  Channel channel({});
  for (std::uint64_t i = 0; i < 3; ++i)
    channel.put({1, i}, item(std::string(1, static_cast<char>('a' + i))));
  EXPECT_EQ(told(channel.get(get1, {}, {.quick = 2})), "2.1:a+b+c");
  EXPECT_EQ(told(channel.get(get2, {})), "");
  EXPECT_EQ(told(channel.cancel(get2)), "2.1:recalled");
  EXPECT_EQ(told(channel.give_back(get1, 2)), "3.1:c");
}

TEST(Channel, puts_back_what_a_dead_consumer_was_sent_ahead) {
  Channel channel({.alone = 0});
  for (auto [who, text] : {std::pair{put1, "a"}, {put2, "b"}, {put3, "c"}})
    channel.put(who, item(text));
  channel.get(get1, {}, {.most = 5});
  channel.took(get1);
  channel.took(get1, 1);
  channel.gone(2);
  EXPECT_EQ(told(channel.get(get2, {}, {.most = 5})), "3.1:c");
}

TEST(Channel, has_no_room_for_what_was_sent_ahead) {
  Channel channel({.items = 2, .puts_wait = true, .alone = 0});
  channel.put(put1, item("a"));
  channel.put(put2, item("b"));
  EXPECT_EQ(told(channel.get(get1, {}, {.most = 5})), "2.1:a+b");
  EXPECT_EQ(told(channel.put(put3, item("c"))), "1.3:done");
  EXPECT_EQ(told(channel.put({1, 4}, item("d"))), "");
  EXPECT_EQ(told(channel.took(get1, 1)), "1.4:done");
}

TEST(Channel, sends_nothing_of_another_type_ahead) {
  Channel channel({.alone = 0});
  channel.put(put1, item("a", "int"));
  channel.put(put2, item("b", "double"));
  EXPECT_EQ(told(channel.get(get1, "int", {.most = 5})), "2.1:a");
}

TEST(Channel, waits_at_its_end_for_what_was_sent_ahead) {
  Channel channel({.alone = 0});
  channel.put(put1, item("a"));
  channel.put(put2, item("b"));
  channel.get(get1, {}, {.most = 5});
  channel.took(get1);
  EXPECT_EQ(told(channel.close()), "");
  EXPECT_EQ(told(channel.get(get2, {})), "2.1:recalled");
  EXPECT_EQ(told(channel.took(get1, 1)), "3.1:closed");
}

} // namespace
} // namespace fiber::actors
