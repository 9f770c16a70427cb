// SPDX-License-Identifier: Apache-2.0
// The promise: a job gets every shared value that exists, or is told that there is none.

#include "actors/share/share_store.hpp"

#include <algorithm>
#include <map>
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

/// Returns how many bytes the job was sent.
template <class Field>
std::size_t says(ShareStore& store, std::uint64_t job, Op op, const Field& field,
                 const std::shared_ptr<wire::Link>& link) {
  Bytes message;
  Writer writer(message);
  writer.put(field);
  Reader reader(message);
  return store.heard(job, op, reader, link);
}
std::size_t fetch(ShareStore& store, const ShareFetch& wanted, std::uint64_t job,
                  const std::shared_ptr<wire::Link>& link) {
  return says(store, job, Op::fetch, wanted, link);
}

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
  fetch(*store, {small->id()}, 1, driver);
  fetch(*store, {large->id()}, 1, driver);
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
    EXPECT_EQ(fetch(*store, {id}, 1, driver), 0U) << "value " << id << " for the asking";
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
    auto link = std::make_shared<FakeLink>(); // A job elsewhere.
    EXPECT_EQ(fetch(*store, {large->id()}, 1, link), packed.size());
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
  auto link = std::make_shared<FakeLink>();
  EXPECT_EQ(fetch(*store, {object->id()}, 1, link), 1'000'000U);
}

TEST(ShareStore, a_value_is_aligned_within_its_message) {
  auto store = std::make_shared<ShareStore>();
  auto object = store->add(Bytes(100), nullptr);
  auto link = std::make_shared<FakeLink>();
  EXPECT_EQ(fetch(*store, {object->id()}, 1, link), 100u);
  auto message = link->sent().at(0);
  EXPECT_EQ(message.head.size() % 64, 0u);
  EXPECT_EQ(message.body.size(), 100u);
}

/// Three jobs of one machine, the first of which has a value, and one of another machine.
class ShareOnMachine : public testing::Test {
protected:
  static constexpr std::uint64_t machine = 7, other_machine = 8;
  static constexpr std::size_t size = 1 << 20;

  void SetUp() override {
    EXPECT_EQ(fetch(1, machine), size);
    EXPECT_EQ(fetch(2, machine), 0U);
    EXPECT_EQ(fetch(3, machine), 0U);
    EXPECT_EQ(heard(1), std::vector<Op>{Op::shared});
    says(*store_, 1, Op::share_arrived, value_->id(), link(1));
    EXPECT_EQ(heard(1), (std::vector<Op>{Op::shared, Op::share_memory}));
    EXPECT_EQ(heard(2), std::vector<Op>{});
  }
  std::shared_ptr<FakeLink> link(std::uint64_t job) {
    auto& link = links_[job];
    if (!link)
      link = std::make_shared<FakeLink>();
    return link;
  }
  std::size_t fetch(std::uint64_t job, std::uint64_t at) {
    return actors::fetch(*store_, {value_->id(), at}, job, link(job));
  }
  void place(std::uint64_t job, int fd) {
    says(*store_, job, Op::share_place, SharePlace{value_->id(), {.pid = 1, .fd = fd}},
         link(job));
  }
  std::vector<Op> heard(std::uint64_t job) {
    std::vector<Op> ops;
    for (auto& message : link(job)->sent()) {
      Reader reader(message.head);
      ops.push_back(read_op(reader));
    }
    return ops;
  }

  std::shared_ptr<ShareStore> store_ = std::make_shared<ShareStore>();
  std::shared_ptr<detail::SharedObject> value_ = store_->add(Bytes(size), nullptr);
  std::map<std::uint64_t, std::shared_ptr<FakeLink>> links_;
};

TEST_F(ShareOnMachine, one_job_is_sent_the_value_and_the_others_map_it) {
  place(1, 5);
  EXPECT_EQ(heard(2), std::vector<Op>{Op::share_mapped});
  EXPECT_EQ(heard(3), std::vector<Op>{Op::share_mapped});
  EXPECT_EQ(fetch(4, other_machine), size);
  EXPECT_EQ(fetch(5, machine), 0U); // Later.
  EXPECT_EQ(heard(5), std::vector<Op>{Op::share_mapped});
}

TEST_F(ShareOnMachine, each_job_is_sent_the_value_if_there_is_no_memory_for_it) {
  place(1, -1);
  EXPECT_EQ(heard(2), std::vector<Op>{Op::shared});
  EXPECT_EQ(heard(3), std::vector<Op>{Op::shared});
  EXPECT_EQ(fetch(4, machine), 0U); // There may be memory by now.
  place(1, 5);
  EXPECT_EQ(heard(4), std::vector<Op>{Op::share_mapped});
}

TEST_F(ShareOnMachine, a_job_that_can_not_map_it_is_sent_the_value) {
  place(1, 5);
  EXPECT_EQ(fetch(2, 0), size);
}

TEST_F(ShareOnMachine, jobs_that_wait_are_sent_the_value_when_the_first_is_gone) {
  store_->job_gone(1);
  EXPECT_EQ(heard(2), std::vector<Op>{Op::shared});
  EXPECT_EQ(heard(3), std::vector<Op>{Op::shared});
  EXPECT_EQ(fetch(4, machine), size) << "no job of the machine has a copy to share";
}

TEST_F(ShareOnMachine, a_copy_ends_with_the_job_that_has_it) {
  place(1, 5);
  store_->job_gone(1);
  EXPECT_EQ(fetch(4, machine), size);
}

TEST_F(ShareOnMachine, a_job_that_was_not_asked_can_not_place_the_value) {
  place(2, 5);
  EXPECT_EQ(heard(3), std::vector<Op>{});
  place(1, 6);
  EXPECT_EQ(heard(3), std::vector<Op>{Op::share_mapped});
}

} // namespace
} // namespace fiber::actors
