// SPDX-License-Identifier: Apache-2.0
// The promise: a job uses the value that the driver shares, from wherever it comes, and
// asks the driver if another job does not pass the value on.

#include "actors/share/share_cache.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.hpp"
#include "tests/actors/fake_link.hpp"
#include "wire/digest.hpp"

namespace fiber::actors {
namespace {

constexpr std::uint64_t id = 77;

template <class Condition>
bool wait_until(Condition holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!holds())
    if (std::this_thread::yield(); std::chrono::steady_clock::now() > end)
      return false;
  return true;
}

class PassedOn : public testing::Test {
protected:
  PassedOn() {
    cache_.connect(driver_, [] {});
    object_ = cache_.hold(id);
    reader_ = std::async(std::launch::async, [this] { return object_->bytes(); });
    EXPECT_TRUE(wait_until([&] { return fetches().size() == 1; }));
  }
  ~PassedOn() override {
    if (reader_.valid()) // Nothing waits for ever.
      arrives(value_);
  }

  static Payload message_with(const Payload& value, std::uint64_t number = id,
                              bool found = true) {
    FakeLink link;
    send_shared(link, number, found ? std::optional(value) : std::nullopt);
    auto sent = link.sent().at(0);
    auto body = sent.body.bytes();
    sent.head.insert(sent.head.end(), body.begin(), body.end());
    return Payload(std::move(sent.head));
  }
  void arrives(const Payload& value) {
    auto message = message_with(value);
    Reader reader(message.bytes());
    read_op(reader);
    cache_.arrived(reader, message);
  }
  void passed(const Payload& message, const detail::Digest& digest) {
    Reader reader(message.bytes());
    read_op(reader);
    cache_.passed_on(reader, message, id, digest);
  }
  /// What the job has asked of the driver.
  std::vector<ShareFetch> fetches() {
    std::vector<ShareFetch> all;
    for (auto& message : driver_->sent()) {
      Reader reader(message.head);
      if (read_op(reader) == Op::fetch)
        all.push_back(reader.get<ShareFetch>());
    }
    return all;
  }
  bool reads(const Payload& value) {
    return std::ranges::equal(reader_.get(), value.bytes());
  }

  std::shared_ptr<FakeLink> driver_ = std::make_shared<FakeLink>();
  const Payload value_{Bytes(min_mapped, std::byte{1})};
  const Payload other_{Bytes(min_mapped, std::byte{2})};
  const detail::Digest digest_ = wire::digest_of(value_.bytes());
  ShareCache cache_;
  std::shared_ptr<detail::SharedObject> object_;
  std::future<std::span<const std::byte>> reader_;
};

TEST_F(PassedOn, the_value_is_used_and_the_driver_told) {
  passed(message_with(value_), digest_);
  EXPECT_TRUE(reads(value_));
  EXPECT_EQ(driver_->count(Op::share_arrived), 1u);
  cache_.not_passed(id, true); // The end of the link.
  EXPECT_EQ(fetches().size(), 1u);
}

TEST_F(PassedOn, another_value_is_not_used) {
  log().set_level(spdlog::level::off);
  passed(message_with(other_), digest_);
  ASSERT_TRUE(wait_until([&] { return fetches().size() == 2; }));
  log().set_level(spdlog::level::warn);
  EXPECT_EQ(fetches()[1].machine, 0u);
  EXPECT_EQ(driver_->count(Op::share_arrived), 0u);
  arrives(value_);
  EXPECT_TRUE(reads(value_));
}

TEST_F(PassedOn, a_message_with_another_number_or_without_a_value_is_refused) {
  EXPECT_THROW(passed(message_with(value_, id + 1), digest_), Error);
  EXPECT_THROW(passed(message_with(value_, id, false), digest_), Error);
}

TEST_F(PassedOn, the_driver_is_asked_if_no_value_comes) {
  cache_.not_passed(id, true);
  ASSERT_EQ(fetches().size(), 2u);
  EXPECT_EQ(fetches()[1].machine, 0u);
  EXPECT_EQ(fetches()[1].unreached, 1u);
}

TEST_F(PassedOn, a_second_copy_does_not_replace_the_one_that_is_read) {
  arrives(value_);
  const auto bytes = reader_.get();
  arrives(other_);
  passed(message_with(value_), digest_);
  EXPECT_EQ(object_->bytes().data(), bytes.data());
  EXPECT_TRUE(std::ranges::equal(bytes, value_.bytes()));
}

TEST_F(PassedOn, the_value_goes_to_another_job_only_when_it_is_here) {
  FakeLink peer;
  cache_.pass_on(id, peer);
  arrives(value_);
  EXPECT_TRUE(reads(value_));
  cache_.pass_on(id, peer);
  cache_.pass_on(id + 1, peer);
  auto sent = peer.sent();
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(sent[0].body.size(), 0u);
  EXPECT_TRUE(std::ranges::equal(sent[1].body.bytes(), value_.bytes()));
  EXPECT_EQ(sent[2].body.size(), 0u);
}

} // namespace
} // namespace fiber::actors
