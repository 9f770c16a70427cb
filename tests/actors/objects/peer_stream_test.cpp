// SPDX-License-Identifier: Apache-2.0
// The promise: what two jobs send each other arrives once and in order, whichever way it
// goes and wherever their link is cut.
#include "actors/objects/peer_stream.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <random>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "actors/objects/peer_introductions.hpp"
#include "actors/protocol/node_protocol.hpp"

namespace fiber::actors {
namespace {

using namespace std::chrono_literals;

ObjectMessage message_of(std::uint64_t from, std::uint64_t request, bool handles = false,
                         std::size_t bytes = 10) {
  ObjectMessage message;
  message.from = from;
  message.to = 3 - from;
  message.object = 1;
  message.request = request;
  message.body = Payload(Bytes(bytes));
  if (handles)
    message.held = {{9, 9}};
  return message;
}

struct Ack {
  std::uint64_t upto = 0;
};
struct Sync {
  std::uint64_t upto = 0;
};
struct Release {
  std::uint64_t behind = 0; ///< What had been sent before.
};
using Direct = std::variant<ObjectMessage, Ack, Sync>;
using ByDriver = std::variant<ObjectMessage, Release>;

/// One of the two jobs, and what it has sent that is still under way.
struct Side {
  std::uint64_t self = 0;
  PeerStream stream;
  bool linked = false, used = false;
  std::deque<Direct> direct;
  std::deque<ByDriver> by_driver;
  std::deque<Release> held_back;
  std::uint64_t sent = 0, delivered = 0;
};

/// Two jobs, their link, and the way by the driver; all of it at random.
class StreamHistory {
public:
  explicit StreamHistory(unsigned seed) : random_(seed) {
    sides_[0].self = 1;
    sides_[1].self = 2;
  }

  void step() {
    auto i = draw(2);
    auto& side = sides_[i];
    auto& other = sides_[1 - i];
    switch (draw(16)) {
    case 0:
      return cut_once();
    case 1:
      return notice(side);
    case 2:
      return link_again();
    case 3:
      return release(side);
    case 4:
    case 5:
    case 6:
    case 7:
      return send(side);
    case 8:
    case 9:
    case 10:
      return pass_by_driver(side, other);
    default:
      return pass_directly(side, other);
    }
  }

  void end() {
    for (auto& side : sides_)
      if (cut_)
        notice(side);
    for (auto busy = true; busy;) {
      busy = false;
      for (int i = 0; i < 2; ++i) {
        auto& side = sides_[i];
        auto& other = sides_[1 - i];
        if (auto last = side.stream.unacknowledged(); last > 0 && side.direct.empty())
          side.direct.emplace_back(Sync{last});
        busy = busy || !side.direct.empty() || !side.by_driver.empty();
        pass_by_driver(side, other);
        pass_directly(side, other);
      }
    }
    for (auto& side : sides_) {
      auto& other = side.self == 1 ? sides_[1] : sides_[0];
      EXPECT_EQ(other.delivered, side.sent);
      EXPECT_EQ(side.stream.kept(), 0U);
      EXPECT_TRUE(side.held_back.empty());
    }
  }

  std::size_t cuts = 0, lost = 0, max_kept = 0;

private:
  std::size_t draw(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }

  void send(Side& side) {
    auto message = message_of(side.self, ++side.sent, draw(10) == 0);
    if (!side.stream.number(message, side.used))
      side.by_driver.emplace_back(std::move(message));
    else if (!cut_)
      side.direct.emplace_back(std::move(message));
    else
      ++lost;
    max_kept = std::max(max_kept, side.stream.kept());
  }

  void release(Side& side) {
    if (!side.stream.hold_back({3 - side.self, 7})) {
      side.by_driver.emplace_back(Release{side.sent});
      return;
    }
    side.held_back.push_back({side.sent});
    if (!cut_)
      side.direct.emplace_back(Sync{side.stream.unacknowledged()});
  }

  /// What each end does when something has come.
  void look_after(Side& side) {
    for (auto& object : side.stream.due()) {
      EXPECT_EQ(object.number, 7U);
      side.by_driver.emplace_back(side.held_back.front());
      side.held_back.pop_front();
    }
    if (side.linked)
      if (auto upto = side.stream.ack_due(); upto && !cut_)
        side.direct.emplace_back(Ack{*upto});
  }

  void take(Side& side, ObjectMessage message) {
    for (auto& next : side.stream.arrived(std::move(message)))
      EXPECT_EQ(next.request, ++side.delivered);
  }

  void pass_directly(Side& from, Side& to) {
    if (from.direct.empty())
      return;
    auto first = std::move(from.direct.front());
    from.direct.pop_front();
    if (!to.linked)
      return; // It has noticed the cut.
    to.used = true;
    if (auto* message = std::get_if<ObjectMessage>(&first))
      take(to, std::move(*message));
    else if (auto* ack = std::get_if<Ack>(&first))
      to.stream.acknowledged(ack->upto);
    else
      to.stream.sync(std::get<Sync>(first).upto);
    look_after(to);
  }

  void pass_by_driver(Side& from, Side& to) {
    if (from.by_driver.empty())
      return;
    auto first = std::move(from.by_driver.front());
    from.by_driver.pop_front();
    if (auto* message = std::get_if<ObjectMessage>(&first))
      take(to, std::move(*message));
    else
      EXPECT_GE(to.delivered, std::get<Release>(first).behind);
    look_after(to);
  }

  /// Loses a part of what is under way, at both ends.
  void cut_once() {
    if (cut_ || !sides_[0].linked || draw(20) > 0)
      return;
    cut_ = true;
    ++cuts;
    for (auto& side : sides_)
      for (auto n = draw(side.direct.size() + 1); n > 0; --n) {
        side.direct.pop_back();
        ++lost;
      }
  }

  /// It reads what is there, and then the end.
  void notice(Side& side) {
    auto& other = side.self == 1 ? sides_[1] : sides_[0];
    if (!cut_ || !side.linked)
      return;
    while (!other.direct.empty())
      pass_directly(other, side);
    side.linked = side.used = false;
    for (auto& message : side.stream.again())
      side.by_driver.emplace_back(std::move(message));
    look_after(side);
    if (!other.linked)
      cut_ = false;
  }

  void link_again() {
    auto& [dials, listens] = sides_;
    if (cut_ || dials.linked || listens.linked || !dials.direct.empty() ||
        !listens.direct.empty())
      return;
    dials.linked = listens.linked = dials.used = true;
    dials.direct.emplace_back(Ack{0});
  }

  std::mt19937 random_;
  Side sides_[2];
  bool cut_ = false;
};

TEST(PeerStream, loses_doubles_and_reorders_nothing_in_ten_thousand_histories) {
  std::size_t cuts = 0, lost = 0;
  for (unsigned seed = 0; seed < 10000; ++seed) {
    SCOPED_TRACE(seed);
    StreamHistory history(seed);
    for (int i = 0; i < 300; ++i)
      history.step();
    history.end();
    cuts += history.cuts;
    lost += history.lost;
    if (testing::Test::HasFailure())
      return;
  }
  EXPECT_GT(cuts, 1000U);
  EXPECT_GT(lost, 1000U);
}

/// Where messages go directly.
class DirectStream : public testing::Test {
protected:
  ObjectMessage send(std::size_t bytes = 10) {
    auto message = message_of(1, ++sent_, false, bytes);
    EXPECT_TRUE(from_.number(message, true));
    return message;
  }

  PeerStream from_, to_;

private:
  std::uint64_t sent_ = 0;
};

TEST_F(DirectStream, acknowledges_many_or_large_messages_at_once_and_few_when_asked) {
  std::size_t acks = 0;
  for (int i = 0; i < 640; ++i) {
    to_.arrived(send());
    if (auto upto = to_.ack_due()) {
      from_.acknowledged(*upto);
      ++acks;
    }
    EXPECT_LE(from_.kept(), 64U);
  }
  EXPECT_EQ(acks, 10U);
  to_.arrived(send(100'000));
  EXPECT_EQ(to_.ack_due(), 641U);
  from_.acknowledged(641);
  to_.arrived(send());
  EXPECT_FALSE(to_.ack_due());
  to_.sync(642);
  EXPECT_EQ(to_.ack_due(), 642U);
  EXPECT_FALSE(to_.ack_due());
}

TEST_F(DirectStream, answers_a_sync_when_what_is_missing_has_come) {
  auto first = message_of(1, 0, true);
  EXPECT_FALSE(from_.number(first, true)); // It has handles in it.
  auto second = send();
  EXPECT_TRUE(to_.arrived(second).empty());
  to_.sync(2);
  EXPECT_FALSE(to_.ack_due());
  EXPECT_EQ(to_.arrived(first).size(), 2U);
  EXPECT_EQ(to_.ack_due(), 2U);
}

TEST_F(DirectStream, acknowledges_with_what_goes_the_other_way) {
  auto message = send();
  to_.arrived(message);
  auto answer = message_of(2, 1);
  to_.number(answer, false);
  EXPECT_EQ(from_.unacknowledged(), 1U);
  from_.arrived(answer);
  EXPECT_EQ(from_.unacknowledged(), 0U);
  EXPECT_TRUE(from_.again().empty());
}

TEST_F(DirectStream, believes_no_number_that_was_never_sent) {
  to_.arrived(send());
  from_.acknowledged(1000);
  auto next = send();
  EXPECT_EQ(from_.unacknowledged(), 2U);
  auto none = message_of(1, 7);
  EXPECT_TRUE(to_.arrived(none).empty()); // Number 0.
  EXPECT_EQ(to_.arrived(next).size(), 1U);
}

class Introductions : public testing::Test {
protected:
  using Clock = PeerIntroductions::Clock;
  std::optional<PeerCall> pass(std::uint64_t from, std::uint64_t to,
                               std::size_t bytes = 10, bool handles = false) {
    ObjectMessage message;
    message.from = from;
    message.to = to;
    message.body = Payload(Bytes(bytes));
    if (handles)
      message.held = {{9, 9}};
    return of_.passed_on(message, now_);
  }
  /// Until one of them is told to listen.
  std::optional<PeerCall> pass_much(std::uint64_t from, std::uint64_t to) {
    for (int i = 0; i < 100; ++i)
      if (auto call = pass(from, to))
        return call;
    return std::nullopt;
  }

  PeerIntroductions of_;
  Clock::time_point now_ = Clock::now();
};

TEST_F(Introductions, are_made_when_much_was_passed_on) {
  for (int i = 0; i < 15; ++i)
    EXPECT_FALSE(pass(1 + i % 2, 2 - i % 2));
  auto call = pass(1, 2);
  ASSERT_TRUE(call);
  EXPECT_EQ(call->to, 2U);
  EXPECT_EQ(call->peer, 1U);
  EXPECT_TRUE(pass(3, 4, 70'000));
  for (int i = 0; i < 100; ++i)
    EXPECT_FALSE(pass(5, 6, 10, true));
}

TEST_F(Introductions, tell_the_one_to_dial_where_the_other_one_listens) {
  auto call = pass_much(1, 2);
  ASSERT_TRUE(call);
  Bytes bytes;
  Writer writer(bytes);
  call->host = "192.0.2.7";
  call->port = 99;
  write(writer, *call);
  Reader reader(bytes);
  auto told = of_.listens(2, read_peer_call(reader), "192.0.2.7");
  ASSERT_TRUE(told);
  EXPECT_EQ(told->to, 1U);
  EXPECT_EQ(told->peer, 2U);
  EXPECT_EQ(told->host, "192.0.2.7");
  EXPECT_EQ(told->port, 99);
  EXPECT_EQ(told->secret, call->secret);
  EXPECT_FALSE(of_.listens(1, *call, "192.0.2.7")); // That one dials.
  call->secret[0] ^= 1;
  EXPECT_FALSE(of_.listens(2, *call, "192.0.2.7"));
}

TEST_F(Introductions, believe_a_job_behind_a_tunnel_of_this_machine_where_it_listens) {
  auto call = pass_much(1, 2);
  ASSERT_TRUE(call);
  call->host = "192.0.2.7";
  call->port = 99;
  EXPECT_FALSE(of_.listens(2, *call, "127.0.0.1")) << "there are no tunnels";
  of_.allow_tunnels();
  EXPECT_TRUE(of_.listens(2, *call, "127.0.0.1"));
  EXPECT_FALSE(of_.listens(2, *call, "192.0.2.8")) << "that job comes from elsewhere";
}

TEST_F(Introductions, lead_nobody_to_an_address_that_the_listener_only_names) {
  auto call = pass_much(1, 2);
  ASSERT_TRUE(call);
  call->port = 99;
  for (auto* other : {"192.0.2.8", "127.0.0.1", "localhost", "", "192.0.2.70"}) {
    call->host = other;
    EXPECT_FALSE(of_.listens(2, *call, "192.0.2.7")) << other;
  }
  call->host = "";
  EXPECT_FALSE(of_.listens(2, *call, ""));
  call->port = 0; // A job whose link is inherited names a local socket.
  call->host = "123/4";
  EXPECT_TRUE(of_.listens(2, *call, ""));
  EXPECT_FALSE(of_.listens(2, *call, "192.0.2.7"));
}

TEST_F(Introductions, have_the_one_listen_that_has_more_peers) {
  auto first = pass_much(1, 2);
  ASSERT_TRUE(first);
  auto home = first->to;
  for (std::uint64_t other = 3; other < 6; ++other)
    for (auto call : {pass_much(other, home), pass_much(home, other + 10)}) {
      ASSERT_TRUE(call);
      EXPECT_EQ(call->to, home);
    }
}

TEST_F(Introductions, are_made_again_after_ever_longer_pauses) {
  auto first = pass_much(1, 2);
  ASSERT_TRUE(first);
  EXPECT_FALSE(pass_much(1, 2));
  now_ += 6s;
  auto second = pass_much(1, 2);
  ASSERT_TRUE(second);
  EXPECT_NE(second->secret, first->secret);
  now_ += 6s;
  EXPECT_FALSE(pass_much(1, 2));
  now_ += 6s;
  EXPECT_TRUE(pass_much(1, 2));
}

TEST_F(Introductions, forget_who_is_gone) {
  auto call = pass_much(1, 2);
  ASSERT_TRUE(call);
  of_.gone(1);
  EXPECT_FALSE(of_.listens(2, *call, "192.0.2.7"));
}

TEST_F(Introductions, give_nobody_more_links_than_it_can_have) {
  std::size_t told = 0;
  for (std::uint64_t other = 2; other < 102; ++other)
    told += pass_much(other, 1) ? 1 : 0;
  EXPECT_EQ(told, 64U);
  EXPECT_TRUE(pass_much(2, 3));
  of_.gone(50);
  EXPECT_TRUE(pass_much(101, 1));
}

} // namespace
} // namespace fiber::actors
