// SPDX-License-Identifier: Apache-2.0
// The promise: a job gets every shared value that exists, or is told that there is none.

#include "actors/share/share_store.hpp"

#include <gtest/gtest.h>

#include "base/log.hpp"
#include "tests/actors/fake_link.hpp"
#include "wire/stream_link.hpp"

namespace fiber::actors {
namespace {

/// Reads the answers to fetches.
class Job final : public wire::LinkHandler {
public:
  void on_message(wire::StreamId, Bytes message) override {
    Reader reader(message);
    ASSERT_EQ(read_op(reader), Op::shared);
    reader.raw(share_padding);
    reader.get<std::uint64_t>();
    found.push_back(reader.get<bool>());
  }
  void on_silence() override {}
  void on_closed(const wire::LinkEnd&) override {}
  std::vector<bool> found;
};

TEST(ShareStore, a_value_that_is_too_large_to_be_sent_is_refused) {
  auto store = std::make_shared<ShareStore>(100);
  EXPECT_NO_THROW(store->add(Bytes(100), nullptr));
  EXPECT_THROW(store->add(Bytes(101), nullptr), Error);
}

TEST(ShareStore, an_array_that_is_too_large_to_be_sent_is_only_mapped) {
  log().set_level(spdlog::level::off);
  auto store = std::make_shared<ShareStore>(100);
  auto small = store->add_array(Bytes(100)), large = store->add_array(Bytes(101));
  auto [driver, job] = wire::loopback();
  auto heard = std::make_shared<Job>();
  job->start(heard);
  store->fetch(small->id(), *driver);
  store->fetch(large->id(), *driver);
  EXPECT_EQ(heard->found, (std::vector<bool>{true, false}));
}

TEST(ShareStore, a_value_is_aligned_within_its_message) {
  auto store = std::make_shared<ShareStore>();
  auto object = store->add(Bytes(100), nullptr);
  FakeLink link;
  EXPECT_EQ(store->fetch(object->id(), link), 100u);
  auto message = link.sent().at(0);
  EXPECT_EQ(message.head.size() % 64, 0u);
  EXPECT_EQ(message.body.size(), 100u);
}

} // namespace
} // namespace fiber::actors
