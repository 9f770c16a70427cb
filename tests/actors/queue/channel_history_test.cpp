// SPDX-License-Identifier: Apache-2.0
// The promise: no item of a channel is lost, doubled or out of order, whichever process
// dies, with lent room, prefetch and redelivery; every request is answered once; and
// join() tells of each item that a dead consumer has not finished.
#include "actors/queue/channel.hpp"

#include <algorithm>
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

Item item(const std::string& text) {
  Bytes bytes;
  Writer(bytes).raw(text.data(), text.size());
  return {{}, Payload(std::move(bytes)), {}};
}
std::string text_of(const Item& item) {
  return {reinterpret_cast<const char*>(item.bytes.bytes().data()), item.bytes.size()};
}

/// Producers and consumers that send random requests and die at random.
class History {
public:
  explicit History(unsigned seed)
    : random_(seed), limits_{.items = draw(2) == 0 ? std::size_t{2 + draw(20)} : SIZE_MAX,
                             .bytes = draw(3) == 0 ? std::size_t{40} : 100000,
                             .puts_wait = draw(2) == 0,
                             .streak = draw(3),
                             .redeliver = draw(2) == 0,
                             .max_redeliveries = static_cast<int>(draw(4)) - 1},
      channel_(limits_, [this](const Asker& who) { return recorded(who); }) {}

  void run() {
    for (int step = 0; step < 300; ++step)
      act();
    // In the end one consumer that survives takes what is left.
    for (auto process : consumers_)
      lose_consumer(process);
    hear(channel_.close());
    obey_recalls();
    constexpr std::uint64_t last = 1000;
    std::uint64_t request = 0;
    while (!closed_for_.contains({last, request})) {
      while (!prefetched_.empty())
        take_prefetched(last);
      waiting_gets_.insert({last, ++request});
      hear(channel_.get({last, request}, {}, {.sole = draw(4)}));
      obey_recalls();
      ASSERT_FALSE(waiting_gets_.contains({last, request})) << "it hangs";
      take({{last, request}, 0});
    }
    while (!unfinished_[last].empty())
      finish(last);
    check();
    check_joins();
  }

private:
  using Position = std::pair<Asker, std::size_t>;

  unsigned draw(unsigned n) { return static_cast<unsigned>(random_() % n); }

  void obey_recalls() {
    for (auto& who : std::exchange(recalled_, {}))
      give_back(who);
    for (auto process : std::exchange(reclaimed_, {}))
      hear(channel_.unused(process, std::exchange(room_[process], 0)));
  }

  void act() {
    if (draw(3) == 0)
      obey_recalls();
    auto process = consumers_.at(draw(3));
    switch (draw(10)) {
    case 0:
    case 1:
    case 2: {
      auto producer = producers_.at(draw(3));
      if (draw(3) > 0 && (!limits_.puts_wait || room_[producer] > 0))
        return put_unasked(producer);
      Asker who{producer, ++requests_};
      auto number = ++put_[who.process];
      waiting_puts_[who] = {who.process, number};
      return hear(channel_.put(who, item(name_of(who.process, number)), true));
    }
    case 3:
    case 4: {
      if (take_prefetched(process))
        return;
      Asker who{process, ++requests_};
      waiting_gets_.insert(who);
      return hear(
        channel_.get(who, {}, {.sole = draw(2) * draw(5), .quick = draw(2) * draw(4)}));
    }
    case 5:
      if (!taken_.empty())
        take(taken_.begin()->first);
      return;
    case 6:
      if (!waiting_gets_.empty())
        hear(channel_.cancel(*waiting_gets_.begin()));
      if (limits_.puts_wait && !waiting_puts_.empty() && draw(2) == 0)
        hear(channel_.cancel(waiting_puts_.begin()->first));
      return;
    case 7:
    case 8:
      if (!unfinished_[process].empty())
        finish(process);
      return;
    default:
      if (draw(3) == 0) {
        std::vector<Asker> to_tell;
        hear(channel_.relieve_shortage(to_tell));
      }
      if (draw(5) > 0)
        return;
      if (draw(4) == 0)
        return lose_producer(producers_.at(draw(3)));
      // The successor has another number.
      *std::find(consumers_.begin(), consumers_.end(), process) = ++last_process_;
      lose_consumer(process);
    }
  }

  static std::string name_of(std::uint64_t process, std::uint64_t number) {
    return std::to_string(process) + " " + std::to_string(number);
  }

  void put_unasked(std::uint64_t producer) {
    std::vector<Item> items;
    auto most = limits_.puts_wait ? std::min<std::size_t>(room_[producer], 3) : 3;
    for (auto n = 1 + draw(static_cast<unsigned>(most)); n > 0; --n) {
      auto number = ++put_[producer];
      accepted_.insert({producer, number});
      items.push_back(item(name_of(producer, number)));
      room_[producer] -= limits_.puts_wait ? 1 : 0;
    }
    hear(channel_.put_all(producer, std::move(items)));
  }

  void lose_producer(std::uint64_t process) {
    std::erase_if(reclaimed_, [&](auto other) { return other == process; });
    room_.erase(process);
    if (limits_.puts_wait) // If not, its waiting puts stay.
      std::erase_if(waiting_puts_,
                    [&](auto& put) { return put.first.process == process; });
    *std::find(producers_.begin(), producers_.end(), process) = ++last_process_;
    hear(channel_.gone(process));
  }

  void lose_consumer(std::uint64_t process) {
    std::erase_if(waiting_gets_, [&](auto& who) { return who.process == process; });
    auto is_its = [&](auto& each) { return each.first.first.process == process; };
    std::erase_if(taken_, is_its);
    std::erase_if(prefetched_, is_its);
    std::erase_if(recalled_, [&](auto& who) { return who.process == process; });
    for (auto& [key, text] : std::exchange(unfinished_[process], {}))
      if (limits_.redeliver && (limits_.max_redeliveries < 0 ||
                                redeliveries_[text]++ < limits_.max_redeliveries))
        std::erase(got_, text); // It comes again.
      else
        ++lost_;
    hear(channel_.gone(process, [this](const Asker& who) { return recorded(who); }));
  }

  /// Finishes any of the items that the process has taken.
  void finish(std::uint64_t process) {
    auto& items = unfinished_[process];
    auto at = items.begin() + draw(static_cast<unsigned>(items.size()));
    auto key = at->first;
    items.erase(at);
    auto done = channel_.task_done(
      process, limits_.redeliver ? std::optional<TakenKey>(key) : std::nullopt);
    EXPECT_EQ(done.what, Channel::TaskDone::What::done);
    hear(done.replies);
  }

  void check_joins() {
    constexpr Asker first{1001, 1}, second{1001, 2};
    auto replies = channel_.join(first);
    ASSERT_EQ(replies.size(), 1U) << "it hangs";
    if (lost_ > 0) {
      ASSERT_EQ(replies.front().what, Answer::lost);
      EXPECT_EQ(replies.front().lost->items, lost_);
      replies = channel_.join(second);
      ASSERT_EQ(replies.size(), 1U) << "it hangs";
    }
    EXPECT_EQ(replies.front().what, Answer::done);
    constexpr std::uint64_t other = 1002;
    EXPECT_EQ(channel_.task_done(other).what, limits_.redeliver || lost_ == 0
                                                ? Channel::TaskDone::What::too_often
                                                : Channel::TaskDone::What::late);
  }

  std::uint32_t recorded(const Asker& who) const {
    auto known = recorded_.find(who);
    return known == recorded_.end() ? 0 : known->second;
  }

  void take(Position as) {
    if (auto taken = taken_.find(as); taken != taken_.end()) {
      got_.push_back(taken->second);
      unfinished_[as.first.process].push_back(
        {{as.first.request, as.second}, taken->second});
      taken_.erase(taken);
      if (recorded(as.first) != as.second) {
        early_.insert(as);
        return hear(channel_.took(as.first, as.second));
      }
      auto& count = recorded_[as.first];
      do
        ++count;
      while (early_.contains({as.first, count}));
      if (draw(2) == 0 || is_last(as))
        hear(channel_.took_first(as.first, count));
    }
  }
  /// Whether no other item of that answer is left.
  bool is_last(const Position& as) const {
    auto is_of_it = [&](auto next) { return next->first.first == as.first; };
    auto prefetched = prefetched_.lower_bound({as.first, 0});
    auto taken = taken_.lower_bound({as.first, 0});
    return (prefetched == prefetched_.end() || !is_of_it(prefetched)) &&
           (taken == taken_.end() || !is_of_it(taken));
  }
  /// Takes a prefetched item of the process, which then sends no get. False if there is
  /// none.
  bool take_prefetched(std::uint64_t process) {
    auto first = prefetched_.lower_bound({{process, 0}, 0});
    if (first == prefetched_.end() || first->first.first.process != process)
      return false;
    auto as = first->first;
    taken_.insert(*first);
    prefetched_.erase(first);
    take(as);
    return true;
  }
  /// Gives back as a process does that may have taken some of the items already.
  void give_back(const Asker& who) {
    auto first = prefetched_.lower_bound({who, 0});
    auto any = first != prefetched_.end() && first->first.first == who;
    auto index = any ? first->first.second : SIZE_MAX;
    if (recorded(who) > 0)
      hear(channel_.took_first(who, recorded(who)));
    std::erase_if(prefetched_, [&](auto& each) { return each.first.first == who; });
    hear(channel_.give_back(who, index));
  }

  void hear(const Channel::Replies& replies) {
    for (auto& reply : replies) {
      if (reply.what == Answer::recalled) {
        recalled_.push_back(reply.to);
        continue;
      }
      if (reply.what == Answer::reclaimed) {
        reclaimed_.push_back(reply.to.process);
        continue;
      }
      if (reply.what == Answer::room) {
        room_[reply.to.process] += limits_.puts_wait ? reply.room : 0;
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
        for (auto& item : reply.prefetched)
          prefetched_[{reply.to, ++last_prefetched_[reply.to]}] = text_of(item);
      } else if (reply.what == Answer::closed)
        closed_for_.insert(reply.to);
    }
  }

  /// Checks that all earlier items of the same producer were handed out before.
  void check_is_first(const std::string& text) {
    std::uint64_t process = std::stoull(text), number = number_in(text);
    for (auto before = accepted_.lower_bound({process, 0});
         before != accepted_.lower_bound({process, number}); ++before) {
      auto name = std::to_string(process) + " " + std::to_string(before->second);
      auto is_it = [&](auto& each) { return each.second == name; };
      EXPECT_TRUE(std::find(got_.begin(), got_.end(), name) != got_.end() ||
                  std::any_of(taken_.begin(), taken_.end(), is_it) ||
                  std::any_of(prefetched_.begin(), prefetched_.end(), is_it))
        << text << " came before " << name;
    }
  }

  static std::uint64_t number_in(const std::string& text) {
    return std::stoull(text.substr(text.find(' ')));
  }

  void check() {
    std::set<std::pair<std::uint64_t, std::uint64_t>> got;
    for (auto& text : got_) {
      std::uint64_t process = std::stoull(text), number = number_in(text);
      EXPECT_TRUE(got.insert({process, number}).second) << text << " came twice";
    }
    EXPECT_EQ(got, accepted_);
  }

  std::mt19937 random_;
  const Channel::Limits limits_;
  std::map<Asker, std::uint32_t> recorded_;
  Channel channel_;
  std::uint64_t requests_ = 0, last_process_ = 12;
  std::vector<std::uint64_t> consumers_{10, 11, 12}, producers_{1, 2, 3};
  std::map<std::uint64_t, std::size_t> room_; ///< Lent to producers.
  std::vector<std::uint64_t> reclaimed_;      ///< Producers that have not answered yet.
  std::map<std::uint64_t, std::uint64_t> put_;
  std::map<Asker, std::pair<std::uint64_t, std::uint64_t>> waiting_puts_;
  std::set<Asker> waiting_gets_, closed_for_;
  std::map<Position, std::string> taken_;      ///< Asked for and not taken.
  std::map<Position, std::string> prefetched_; ///< Prefetched and not taken.
  std::set<Position> early_; ///< Taken before earlier items of the answer.
  std::map<Asker, std::size_t> last_prefetched_;
  std::vector<Asker> recalled_; ///< Answers whose consumers have not given back yet.
  std::set<std::pair<std::uint64_t, std::uint64_t>> accepted_;
  std::vector<std::string> got_;
  /// Taken and not finished, by consumer.
  std::map<std::uint64_t, std::vector<std::pair<TakenKey, std::string>>> unfinished_;
  std::map<std::string, int> redeliveries_;
  std::uint64_t lost_ = 0;
};

TEST(ChannelHistory, ten_thousand_random_histories_lose_and_double_nothing) {
  for (unsigned seed = 1; seed <= 10000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    History(seed).run();
  }
}

} // namespace
} // namespace fiber::actors
