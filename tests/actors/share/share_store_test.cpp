// SPDX-License-Identifier: Apache-2.0
// The promise: a job gets every shared value that exists, or is told that there is none.

#include "actors/share/share_store.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "actors/share/shared_memory.hpp"
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

TEST(ShareStore, a_job_cannot_guess_the_number_of_a_value_that_it_was_not_given) {
  auto store = std::make_shared<ShareStore>();
  std::vector<std::shared_ptr<detail::SharedObject>> values;
  std::set<std::uint64_t> high_halves;
  for (int i = 0; i < 64; ++i) {
    values.push_back(i % 2 == 0 ? store->add(Bytes(1), nullptr)
                                : store->add_array(Bytes(1)));
    high_halves.insert(values.back()->id() >> 32);
  }
  EXPECT_GT(high_halves.size(), 60U) << "numbers that follow from each other";
  auto [driver, job] = wire::loopback();
  auto heard = std::make_shared<Job>();
  job->start(heard);
  for (std::uint64_t id = 0; id <= values.size(); ++id)
    EXPECT_EQ(store->fetch(id, *driver), 0U) << "value " << id << " for the asking";
}

SharedMemory::Place place_of(const detail::SharedObject& object) {
  Bytes packed;
  Writer writer(packed);
  object.pack_place(writer);
  Reader reader(packed);
  return reader.get<SharedMemory::Place>();
}

TEST(ShareStore, a_large_value_is_mapped_and_freed_with_its_last_handle) {
  auto store = std::make_shared<ShareStore>();
  auto small = store->add(Bytes(100), nullptr);
  EXPECT_LT(place_of(*small).fd, 0);
  Bytes packed(1'000'000);
  packed[999'999] = std::byte{7};
  auto large = store->add(packed, nullptr);
  const auto place = place_of(*large);
  auto memory = SharedMemory::open(place);
  ASSERT_TRUE(memory);
  EXPECT_TRUE(std::ranges::equal(memory->bytes(), packed));
  {
    FakeLink link; // A job elsewhere.
    EXPECT_EQ(store->fetch(large->id(), link), packed.size());
  }
  large = nullptr;
  EXPECT_FALSE(SharedMemory::open(place));
  EXPECT_TRUE(std::ranges::equal(memory->bytes(), packed)); // For who has mapped it.
}

TEST(ShareStore, a_value_is_sent_if_there_is_no_memory_for_it) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit none{1000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &none); // A file that is larger would kill this process.
  auto store = std::make_shared<ShareStore>();
  auto object = store->add(Bytes(1'000'000), nullptr);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_LT(place_of(*object).fd, 0);
  FakeLink link;
  EXPECT_EQ(store->fetch(object->id(), link), 1'000'000U);
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
