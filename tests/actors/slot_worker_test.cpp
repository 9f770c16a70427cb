// SPDX-License-Identifier: Apache-2.0
// The promise: a slot says how each of its tasks has ended.

#include "actors/slot_worker.hpp"

#include <gtest/gtest.h>

#include "wire/stream_link.hpp"

namespace fiber::actors {
namespace {

std::string repeat(int n) {
  return std::string(static_cast<std::size_t>(n), 'x');
}

std::vector<char> zeros(int n) {
  return std::vector<char>(static_cast<std::size_t>(n));
}

/// Reads the results that a slot sends.
class Driver final : public wire::LinkHandler {
public:
  void on_message(wire::StreamId, Bytes message) override {
    Payload whole(std::move(message));
    Reader reader(whole.bytes());
    ASSERT_EQ(read_op(reader), Op::results);
    frames.push_back(read_results(reader, whole));
  }
  void on_silence() override {}
  void on_closed(const std::string&) override {}
  std::vector<TaskResults> frames;
};

/// Runs `f` with each of `arguments` on a slot whose results may have `most` bytes.
template <class R>
std::vector<TaskResults> run(R (*f)(int), std::vector<int> arguments, std::size_t most) {
  auto [job, driver] = wire::loopback();
  auto heard = std::make_shared<Driver>();
  driver->start(heard);
  SlotWorker slot({.slot = 0,
                   .rank = 0,
                   .link = job,
                   .page = nullptr,
                   .request_flush = [] {},
                   .most_result_bytes = most});
  auto callable = AnyCallable::of<int, false>(f);
  Bytes packed;
  Writer writer(packed);
  for (int argument : arguments)
    pack(writer, argument);
  slot.push({.slot = 0,
             .first_seq = 1,
             .call = 1,
             .first_index = 0,
             .attempt = 1,
             .lengths = std::vector<std::uint64_t>(arguments.size(), sizeof(int)),
             .arguments = Payload(std::move(packed))},
            std::make_shared<CallCode>(
              CallCode{1, false, callable.open(), {}, callable.state()}));
  while (slot.step())
    ;
  return heard->frames;
}

TEST(SlotWorker, a_result_that_is_too_large_to_be_sent_fails_its_task_alone) {
  auto frames = run(&repeat, {200, 50}, 100);
  ASSERT_EQ(frames.size(), 2U);
  ASSERT_EQ(frames[0].results.at(0).status, TaskResult::Status::failure);
  Reader reader(frames[0].bytes.bytes());
  EXPECT_EQ(read_failure(reader).what,
            "a value of 208 bytes is too large to be sent: at most 100 bytes can be");
  EXPECT_EQ(frames[1].results.at(0).status, TaskResult::Status::value);
}

TEST(SlotWorker, so_does_a_vector_that_would_be_sent_as_it_is) {
  auto frames = run(&zeros, {200000, 50000}, 100000);
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[0].results.at(0).status, TaskResult::Status::failure);
  EXPECT_EQ(frames[1].results.at(0).status, TaskResult::Status::value);
}

} // namespace
} // namespace fiber::actors
