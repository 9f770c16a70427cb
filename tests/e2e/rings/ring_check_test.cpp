// SPDX-License-Identifier: Apache-2.0
// The promise: with RingOptions::check, members that call different things get an error
// that says which of them calls what, and members that agree notice nothing.
#include <array>
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/rings/ring_way.hpp"
#include "tests/e2e/support/fixture.hpp"

namespace fiber::e2e {
namespace ring_check {
namespace {

constexpr std::size_t size = 3;

bool is_last(const RingMember& member) {
  return member.rank() == size - 1;
}

template <auto f>
auto by_way(RingWay way, RingMember& member) {
  way.check();
  return f(member);
}

class RingCheck : public SessionTest, public testing::WithParamInterface<bool> {
protected:
  void SetUp() override { open(); }

  template <auto f>
  static auto run(bool check = true) {
    RingWay way{GetParam() ? std::uint8_t{1} : std::uint8_t{0}};
    Ring ring({.size = size, .check = check}, fiber::bind(by_way<f>, way));
    return ring.run();
  }
  /// The ring fails, and says this.
  template <auto f>
  static void fails(const std::string& text) {
    try {
      run<f>();
      FAIL() << "no error";
    } catch (const RemoteError& error) {
      EXPECT_EQ(error.type(), "fiber::Error");
      EXPECT_NE(error.message().find(text), std::string::npos) << error.message();
    }
  }
};
INSTANTIATE_TEST_SUITE_P(By, RingCheck, testing::Bool(), [](auto& way) {
  return std::string(way.param ? "gloo" : "memory");
});

// Functions whose last member differs from the others.

void other_operation(RingMember& member) {
  std::vector<float> values(4);
  if (is_last(member))
    member.broadcast(values, 1);
  else
    member.allreduce(values);
}

void other_type(RingMember& member) {
  if (is_last(member))
    member.allreduce(std::vector<double>(4));
  else
    member.allreduce(std::vector<float>(4));
}

void other_type_as_wide(RingMember& member) {
  if (is_last(member))
    member.allgather(std::vector<std::int32_t>(4));
  else
    member.allgather(std::vector<float>(4));
}

void other_number(RingMember& member) {
  member.allreduce(std::vector<float>(is_last(member) ? 200'000 : 100));
}

void no_values(RingMember& member) {
  member.allgather(std::vector<float>(is_last(member) ? 0 : 5));
}

void other_root(RingMember& member) {
  member.broadcast(std::vector<double>(2), is_last(member) ? 2 : 0);
}

void other_way_to_combine(RingMember& member) {
  if (is_last(member))
    member.reduce_scatter(std::vector<int>(7), Max{});
  else
    member.reduce_scatter(std::vector<int>(7));
}

void other_order(RingMember& member) {
  std::vector<float> values(2);
  member.allreduce(values);
  if (is_last(member))
    member.barrier();
  member.allreduce(values);
  if (!is_last(member))
    member.barrier();
}

void one_call_fewer(RingMember& member) {
  member.barrier();
  if (!is_last(member))
    member.barrier();
}

TEST_P(RingCheck, names_another_operation) {
  fails<other_operation>("the members of a ring disagree in collective 1: "
                         "ranks 0, 1: allreduce of 4 float by Sum; "
                         "rank 2: broadcast of 4 float from rank 1; all members must");
}

TEST_P(RingCheck, names_another_type) {
  fails<other_type>("ranks 0, 1: allreduce of 4 float by Sum; "
                    "rank 2: allreduce of 4 double by Sum");
}

TEST_P(RingCheck, names_another_type_of_the_same_size) {
  fails<other_type_as_wide>("ranks 0, 1: allgather of 4 float; "
                            "rank 2: allgather of 4 std::int32_t");
}

TEST_P(RingCheck, names_another_number_of_values) {
  fails<other_number>("ranks 0, 1: allreduce of 100 float by Sum; "
                      "rank 2: allreduce of 200000 float by Sum");
}

TEST_P(RingCheck, names_a_member_without_values) {
  fails<no_values>("ranks 0, 1: allgather of 5 float; rank 2: allgather of 0 float");
}

TEST_P(RingCheck, names_another_root) {
  fails<other_root>("ranks 0, 1: broadcast of 2 double from rank 0; "
                    "rank 2: broadcast of 2 double from rank 2");
}

TEST_P(RingCheck, names_another_way_to_combine) {
  fails<other_way_to_combine>("ranks 0, 1: reduce_scatter of 7 std::int32_t by Sum; "
                              "rank 2: reduce_scatter of 7 std::int32_t by Max");
}

TEST_P(RingCheck, names_another_order) {
  fails<other_order>("disagree in collective 2: "
                     "ranks 0, 1: allreduce of 2 float by Sum; rank 2: barrier");
}

TEST_P(RingCheck, names_a_member_that_has_returned) {
  fails<one_call_fewer>("disagree in collective 2: "
                        "ranks 0, 1: barrier; rank 2: the end of the function");
}

/// Returns what the call throws, and then agrees with the others.
std::string caught(RingMember& member) {
  std::string text;
  try {
    other_number(member);
  } catch (const Error& error) {
    text = error.what();
  }
  std::vector<int> one{1};
  member.allreduce(one);
  return text + " " + std::to_string(one[0]);
}

TEST_P(RingCheck, throws_the_same_at_all_members) {
  auto texts = run<caught>();
  EXPECT_NE(texts[0].find("rank 2: allreduce of 200000 float"), std::string::npos);
  EXPECT_TRUE(texts[0].ends_with(" 3")) << texts[0];
  EXPECT_EQ(texts, std::vector<std::string>(size, texts[0]));
}

/// Rank 1 sends to rank 0 what it does not expect.
template <class T, std::size_t n>
void sends(RingMember& member) {
  if (member.rank() == 0)
    member.recv(std::vector<float>(3), 1);
  if (member.rank() == 1)
    member.send(std::vector<T>(n), 0);
}

TEST_P(RingCheck, names_a_message_of_another_type) {
  fails<sends<double, 3>>(
    "rank 0 of a ring receives 3 float from rank 1, which has sent 3 double");
}

TEST_P(RingCheck, names_a_message_of_another_length) {
  fails<sends<float, 100>>(
    "rank 0 of a ring receives 3 float from rank 1, which has sent 100 float");
  fails<sends<float, 0>>(
    "rank 0 of a ring receives 3 float from rank 1, which has sent 0 float");
}

/// Everything that members can do, in agreement.
std::vector<double> everything(RingMember& member) {
  std::vector<double> seen;
  auto see = [&](const auto& values) {
    seen.insert(seen.end(), values.begin(), values.end());
  };
  for (std::size_t n : {0, 1, 5, 70'000}) {
    std::vector<float> floats(n, 0.1F * static_cast<float>(member.rank() + 1));
    std::vector<std::int64_t> whole(n, static_cast<std::int64_t>(member.rank()));
    member.allreduce(floats, Mean{});
    see(floats);
    see(member.reduce_scatter(whole, Max{}));
    see(member.allgather(whole));
    member.barrier();
    member.broadcast(whole, 1);
    see(whole);
    std::vector<double> own(n, static_cast<double>(member.rank())), heard(n);
    member.send(own, (member.rank() + 1) % size);
    member.recv(heard, (member.rank() + size - 1) % size);
    see(heard);
  }
  return seen;
}

TEST_P(RingCheck, changes_nothing_if_members_agree) {
  auto checked = run<everything>(), plain = run<everything>(false);
  EXPECT_EQ(checked.size(), size);
  EXPECT_TRUE(checked == plain);
}

/// Sends as many messages as may be in flight before any is received.
bool full(RingMember& member) {
  std::array<float, 1> value{};
  for (int i = 0; i < 64; ++i)
    member.send(value, (member.rank() + 1) % size);
  for (int i = 0; i < 64; ++i)
    member.recv(value, (member.rank() + size - 1) % size);
  return true;
}

TEST_P(RingCheck, leaves_as_many_messages_in_flight) {
  EXPECT_EQ(run<full>(), std::vector<bool>(size, true));
}

int dies_once(RingMember& member) {
  if (is_last(member) && member.attempt() == 1)
    std::raise(SIGKILL);
  member.barrier();
  return member.attempt();
}

TEST_P(RingCheck, begins_again_after_a_loss) {
  EXPECT_EQ(run<dies_once>(), std::vector<int>(size, 2));
}

TEST_P(RingCheck, leaves_a_ring_of_one_alone) {
  Ring ring({.size = 1, .check = true}, [](RingMember& member) {
    std::vector<int> one{1};
    member.broadcast(one, 0);
    member.allreduce(one);
    return member.allgather(one).size() + member.reduce_scatter(one).size();
  });
  EXPECT_EQ(ring.run(), std::vector<std::size_t>{2});
}

} // namespace
} // namespace ring_check
} // namespace fiber::e2e
