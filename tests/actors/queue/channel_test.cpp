// SPDX-License-Identifier: Apache-2.0
// The promise: no item of a channel is lost, doubled or out of order, whichever process
// dies; and every request is answered once.
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

/// Returns replies as "process.request:answer"; a value is shown as its item.
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
    for (auto& item : reply.prefetched)
      all += "+" + text_of(item);
  }
  return all;
}

constexpr Asker put1{1, 1}, put2{1, 2}, put3{1, 3}, get1{2, 1}, get2{3, 1}, get3{2, 2};

TEST(Channel, a_channel_gives_items_in_order_of_arrival) {
  Channel channel({});
  EXPECT_EQ(told(channel.put(put1, item("a"))), "1.1:done");
  EXPECT_EQ(told(channel.put(put2, item("b"))), "1.2:done");
  EXPECT_EQ(channel.size(), 2U);
  EXPECT_EQ(told(channel.get(get1, {})), "2.1:a");
  EXPECT_EQ(told(channel.get(get2, {})), "3.1:b");
}

TEST(Channel, its_living_users_are_known) {
  using Processes = std::set<std::uint64_t>;
  Channel channel({});
  channel.put(put1, item("a"));
  channel.put_all(4, {item("b")});
  channel.get(get1, {});
  channel.get(get2, {});
  EXPECT_EQ(channel.producers(), (Processes{1, 4}));
  EXPECT_EQ(channel.consumers(), (Processes{2, 3}));
  EXPECT_EQ(channel.puts_so_far(), 2U);
  channel.gone(2);
  channel.gone(4);
  EXPECT_EQ(channel.producers(), Processes{1});
  EXPECT_EQ(channel.consumers(), Processes{3});
}

TEST(Channel, waiting_gets_are_served_in_order) {
  Channel channel({});
  EXPECT_EQ(told(channel.get(get1, {})), "");
  EXPECT_EQ(told(channel.get(get2, {})), "");
  EXPECT_EQ(told(channel.put(put1, item("a"))), "1.1:done 2.1:a");
  EXPECT_EQ(told(channel.get(get3, {})), "");
  EXPECT_EQ(told(channel.put(put2, item("b"))), "1.2:done 3.1:b");
}

TEST(Channel, a_put_waits_for_room) {
  Channel channel({.items = 1, .puts_wait = true});
  EXPECT_EQ(told(channel.put(put1, item("a"))), "1.1:done");
  EXPECT_EQ(told(channel.put(put2, item("b"))), "");
  EXPECT_EQ(channel.size(), 1U);
  EXPECT_EQ(told(channel.get(get1, {})), "2.1:a 1.2:done");
}

TEST(Channel, an_empty_item_has_a_cost) {
  Channel channel({.bytes = 10 * Item::item_overhead});
  for (std::uint64_t i = 1; i <= 10; ++i)
    EXPECT_NE(told(channel.put({1, i}, item(""))), "");
  EXPECT_EQ(told(channel.put({1, 11}, item(""))), "");
}

TEST(Channel, an_empty_channel_takes_an_item_of_any_size) {
  Channel channel({.bytes = 2});
  EXPECT_EQ(told(channel.put(put1, item("long"))), "1.1:done");
  EXPECT_EQ(told(channel.put(put2, item("b"))), "");
  EXPECT_EQ(told(channel.get(get1, {})), "2.1:long 1.2:done");
}

TEST(Channel, no_put_overtakes_one_that_waits_for_room) {
  Channel channel({.bytes = 2 * Item::item_overhead + 3});
  channel.put(put1, item("aa"));
  EXPECT_EQ(told(channel.put(put2, item("bb"))), "");
  EXPECT_EQ(told(channel.put(put3, item("c"))), "");
  EXPECT_EQ(told(channel.get(get1, {})), "2.1:aa 1.2:done 1.3:done");
  EXPECT_EQ(told(channel.get(get2, {})), "3.1:bb");
}

TEST(Channel, an_untaken_item_of_a_dead_consumer_returns_to_its_place) {
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

TEST(Channel, a_returned_item_goes_to_a_waiting_get) {
  Channel channel({});
  channel.put(put1, item("a"));
  channel.get(get1, {});
  EXPECT_EQ(told(channel.get(get2, {})), "");
  EXPECT_EQ(told(channel.gone(2)), "3.1:a");
}

TEST(Channel, items_of_a_dead_producer_stay) {
  Channel channel({.bytes = 1});
  channel.put(put1, item("a"));
  channel.put(put2, item("b"));
  EXPECT_EQ(told(channel.gone(1)), "");
  EXPECT_EQ(told(channel.get(get1, {})), "2.1:a 1.2:done");
  EXPECT_EQ(told(channel.get(get3, {})), "2.2:b");
}

TEST(Channel, a_waiting_put_of_a_dead_producer_is_dropped) {
  Channel channel({.items = 1, .puts_wait = true});
  channel.put(put1, item("a"));
  channel.put(put2, item("b"));
  channel.gone(1);
  EXPECT_EQ(told(channel.get(get1, {})), "2.1:a");
  EXPECT_EQ(told(channel.get(get3, {})), "");
}

TEST(Channel, a_cancelled_request_is_forgotten) {
  Channel channel({.items = 1, .puts_wait = true});
  channel.get(get1, {});
  EXPECT_EQ(told(channel.cancel(get1)), "2.1:cancelled");
  channel.put(put1, item("a"));
  channel.put(put2, item("b"));
  EXPECT_EQ(told(channel.cancel(put2)), "1.2:cancelled");
  EXPECT_EQ(told(channel.get(get2, {})), "3.1:a");
  EXPECT_EQ(channel.size(), 0U);
}

TEST(Channel, cancelling_an_answered_request_does_nothing) {
  Channel channel({});
  channel.put(put1, item("a"));
  EXPECT_EQ(told(channel.get(get1, {})), "2.1:a");
  EXPECT_EQ(told(channel.cancel(get1)), "");
}

TEST(Channel, a_closed_channel_can_be_drained) {
  Channel channel({});
  channel.put(put1, item("a"));
  EXPECT_EQ(told(channel.close()), "");
  EXPECT_EQ(told(channel.put(put2, item("b"))), "1.2:closed");
  EXPECT_EQ(told(channel.get(get1, {})), "2.1:a");
  EXPECT_EQ(told(channel.get(get2, {})), ""); // The item may come back.
  EXPECT_EQ(told(channel.took(get1)), "3.1:closed");
}

TEST(Channel, closing_refuses_waiting_puts) {
  Channel channel({.items = 1, .puts_wait = true});
  channel.put(put1, item("a"));
  channel.put(put2, item("b"));
  EXPECT_EQ(told(channel.close()), "1.2:closed");
}

TEST(Channel, dropping_answers_all_waiting_requests) {
  Channel channel({.bytes = 1});
  channel.put(put1, item("a"));
  channel.put(put2, item("b"));
  channel.join({4, 1});
  EXPECT_EQ(told(channel.drop()), "1.2:closed 4.1:closed");
  EXPECT_EQ(told(channel.get(get1, {})), "2.1:closed");
}

TEST(Channel, an_item_of_another_type_stays) {
  Channel channel({});
  channel.put(put1, item("a", "int"));
  EXPECT_EQ(told(channel.get(get1, "double")), "2.1:not int");
  EXPECT_EQ(told(channel.get(get3, "int")), "2.2:a");
}

TEST(Channel, a_poll_takes_no_item) {
  Channel channel({});
  EXPECT_EQ(told(channel.poll(get1)), "");
  EXPECT_EQ(told(channel.put(put1, item("a"))), "1.1:done 2.1:done");
  EXPECT_EQ(channel.size(), 1U);
}

TEST(Channel, a_join_ends_when_all_items_are_done) {
  Channel channel({});
  channel.put(put1, item("a"));
  channel.put(put2, item("b"));
  EXPECT_EQ(told(channel.join(get1)), "");
  EXPECT_EQ(told(channel.task_done(2).replies), "");
  EXPECT_EQ(told(channel.task_done(2).replies), "2.1:done");
  EXPECT_EQ(channel.task_done(2).what, Channel::TaskDone::What::too_often);
}

TEST(Channel, a_sole_consumer_gets_prefetched_items) {
  Channel channel({.streak = 0});
  for (std::uint64_t i = 0; i < 4; ++i)
    channel.put({1, i}, item(std::string(1, static_cast<char>('a' + i))));
  EXPECT_EQ(told(channel.get(get1, {}, {.sole = 2})), "2.1:a+b+c");
  EXPECT_EQ(channel.size(), 3U); // Prefetched items can still be got by others.
}

TEST(Channel, prefetch_starts_after_enough_gets_in_a_row) {
  Channel channel({.streak = 2});
  for (std::uint64_t i = 0; i < 6; ++i)
    channel.put({1, i}, item(std::string(1, static_cast<char>('a' + i))));
  EXPECT_EQ(told(channel.get({2, 1}, {}, {.sole = 2})), "2.1:a");
  EXPECT_EQ(told(channel.get({3, 2}, {}, {.sole = 2})), "3.2:b");
  EXPECT_EQ(told(channel.get({3, 3}, {}, {.sole = 2})), "3.3:c");
  EXPECT_EQ(told(channel.get({3, 4}, {}, {.sole = 1})), "3.4:d+e");
}

TEST(Channel, no_item_overtakes_a_recalled_one) {
  Channel channel({.streak = 0});
  for (std::uint64_t i = 0; i < 4; ++i)
    channel.put({1, i}, item(std::string(1, static_cast<char>('a' + i))));
  EXPECT_EQ(told(channel.get(get1, {}, {.sole = 2})), "2.1:a+b+c");
  EXPECT_EQ(told(channel.get(get2, {}, {.sole = 2})),
            "2.1:recalled"); // Although d is there.
  EXPECT_EQ(told(channel.give_back(get1, 2)), "3.1:c");
}

TEST(Channel, a_waiting_get_recalls_prefetched_items) {
  Channel channel({.streak = 0});
  for (auto [who, text] : {std::pair{put1, "a"}, {put2, "b"}, {put3, "c"}})
    channel.put(who, item(text));
  channel.get(get1, {}, {.sole = 5});
  channel.took(get1);
  EXPECT_EQ(told(channel.get(get2, {})), "2.1:recalled");
  EXPECT_EQ(told(channel.get({3, 2}, {})), ""); // Recalled only once.
  channel.took(get1, 1);
  EXPECT_EQ(told(channel.give_back(get1, 2)), "3.1:c");
  EXPECT_EQ(channel.size(), 0U);
}

TEST(Channel, a_cancelled_get_still_receives_a_recalled_item) {
  Channel channel({.streak = 0});
  channel.put(put1, item("a"));
  channel.put(put2, item("b"));
  channel.get(get1, {}, {.sole = 5});
  EXPECT_EQ(told(channel.get(get2, {})), "2.1:recalled");
  EXPECT_EQ(told(channel.cancel(get2)), "");
  EXPECT_EQ(told(channel.give_back(get1, 1)), "3.1:b");
  channel.get({3, 2}, {});
  EXPECT_EQ(told(channel.cancel({3, 2})), "3.2:cancelled");
}

TEST(Channel, a_get_is_cancelled_if_no_item_comes_back) {
  Channel channel({.streak = 0});
  channel.put(put1, item("a"));
  channel.put(put2, item("b"));
  channel.get(get1, {}, {.sole = 5});
  channel.get(get2, {});
  EXPECT_EQ(told(channel.cancel(get2)), "");
  EXPECT_EQ(told(channel.took(get1, 1)), "3.1:cancelled");
  EXPECT_EQ(told(channel.give_back(get1, SIZE_MAX)), "");
}

TEST(Channel, a_poll_recalls_prefetched_items) {
  Channel channel({.streak = 0});
  channel.put(put1, item("a"));
  channel.put(put2, item("b"));
  channel.get(get1, {}, {.sole = 5});
  EXPECT_EQ(told(channel.poll(get2)), "2.1:recalled");
  EXPECT_EQ(told(channel.give_back(get1, 1)), "3.1:done");
  EXPECT_EQ(told(channel.get(get2, {})), "3.1:b");
}

TEST(Channel, several_consumers_get_quick_prefetches_in_turn) {
  Channel channel({});
  for (std::uint64_t i = 0; i < 8; ++i)
    channel.put({1, i}, item(std::string(1, static_cast<char>('a' + i))));
  EXPECT_EQ(told(channel.get(get1, {}, {.quick = 1})), "2.1:a+b");
  EXPECT_EQ(told(channel.get(get2, {}, {.quick = 5})), ""); // Waits for the quick one.
  EXPECT_EQ(told(channel.get({4, 1}, {}, {.quick = 5})), "");
  // The other waiting consumer keeps its share.
  EXPECT_EQ(told(channel.took_first(get1, 2)), "3.1:c+d+e");
  EXPECT_EQ(told(channel.took_first(get2, 3)), "4.1:f+g+h");
}

TEST(Channel, a_quick_prefetch_that_is_not_used_up_soon_is_recalled) {
  Channel channel({.streak = 1});
  for (std::uint64_t i = 0; i < 5; ++i)
    channel.put({1, i}, item(std::string(1, static_cast<char>('a' + i))));
  std::vector<Asker> to_tell;
  EXPECT_EQ(told(channel.get(get1, {}, {.quick = 2})), "2.1:a+b+c");
  EXPECT_FALSE(channel.waits_for_quick());
  EXPECT_EQ(told(channel.get(get2, {})), "");
  EXPECT_TRUE(channel.waits_for_quick());
  EXPECT_EQ(told(channel.relieve_shortage(to_tell)),
            ""); // It may be new.
  EXPECT_EQ(told(channel.relieve_shortage(to_tell)), "2.1:recalled");
  EXPECT_FALSE(channel.waits_for_quick());
  EXPECT_EQ(told(channel.give_back(get1, 1)), "3.1:b");
  // That recall does not delay the prefetch of a sole consumer.
  EXPECT_EQ(told(channel.get({3, 2}, {}, {.sole = 2})), "3.2:c+d+e");
}

TEST(Channel, cancelling_a_get_recalls_a_quick_prefetch) {
  Channel channel({});
  for (std::uint64_t i = 0; i < 3; ++i)
    channel.put({1, i}, item(std::string(1, static_cast<char>('a' + i))));
  EXPECT_EQ(told(channel.get(get1, {}, {.quick = 2})), "2.1:a+b+c");
  EXPECT_EQ(told(channel.get(get2, {})), "");
  EXPECT_EQ(told(channel.cancel(get2)), "2.1:recalled");
  EXPECT_EQ(told(channel.give_back(get1, 2)), "3.1:c");
}

TEST(Channel, a_prefetched_item_of_a_dead_consumer_returns) {
  Channel channel({.streak = 0});
  for (auto [who, text] : {std::pair{put1, "a"}, {put2, "b"}, {put3, "c"}})
    channel.put(who, item(text));
  channel.get(get1, {}, {.sole = 5});
  channel.took(get1);
  channel.took(get1, 1);
  channel.gone(2);
  EXPECT_EQ(told(channel.get(get2, {}, {.sole = 5})), "3.1:c");
}

TEST(Channel, prefetched_items_occupy_room) {
  Channel channel({.items = 2, .puts_wait = true, .streak = 0});
  channel.put(put1, item("a"));
  channel.put(put2, item("b"));
  EXPECT_EQ(told(channel.get(get1, {}, {.sole = 5})), "2.1:a+b");
  EXPECT_EQ(told(channel.put(put3, item("c"))), "1.3:done");
  EXPECT_EQ(told(channel.put({1, 4}, item("d"))), "");
  EXPECT_EQ(told(channel.took(get1, 1)), "1.4:done");
}

TEST(Channel, items_of_another_type_are_not_prefetched) {
  Channel channel({.streak = 0});
  channel.put(put1, item("a", "int"));
  channel.put(put2, item("b", "double"));
  EXPECT_EQ(told(channel.get(get1, "int", {.sole = 5})), "2.1:a");
}

TEST(Channel, a_closed_channel_ends_after_its_prefetched_items) {
  Channel channel({.streak = 0});
  channel.put(put1, item("a"));
  channel.put(put2, item("b"));
  channel.get(get1, {}, {.sole = 5});
  channel.took(get1);
  EXPECT_EQ(told(channel.close()), "");
  EXPECT_EQ(told(channel.get(get2, {})), "2.1:recalled");
  EXPECT_EQ(told(channel.took(get1, 1)), "3.1:closed");
}

TEST(Channel, room_that_was_not_lent_is_not_taken_for_long) {
  Channel channel({.items = 1, .puts_wait = true});
  EXPECT_EQ(told(channel.put(put1, item("a"))), "1.1:done");
  // Not what a producer of ours does: it sends without being asked or lent anything.
  std::string refused;
  for (int i = 0; i < 100'000 && refused.empty(); ++i)
    refused = told(channel.put_all(2, {item("b")}));
  EXPECT_EQ(refused, "2.0:closed");
  EXPECT_TRUE(told(channel.get(get1, {})).starts_with("2.1:a")); // Others are served.
}

} // namespace
} // namespace fiber::actors
