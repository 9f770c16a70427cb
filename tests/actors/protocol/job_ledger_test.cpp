// SPDX-License-Identifier: Apache-2.0
// The promise: the driver knows what a job took and put, up to the job's last
// instruction.
#include "actors/protocol/job_ledger.hpp"

#include <cstring>
#include <string>

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace fiber::actors {
namespace {

std::span<const std::byte> bytes_in(const std::string& text) {
  return std::as_bytes(std::span(text));
}
std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The ledgers of a driver and its job over one page.
class Ledger : public testing::Test {
protected:
  std::shared_ptr<backends::SharedPage> page_ =
    backends::SharedPage::create(64 + JobLedger::bytes);
  JobLedger driver_{page_}, job_{page_};
};

TEST_F(Ledger, the_driver_sees_how_many_items_of_each_answer_are_taken) {
  auto first = job_.open(7), second = job_.open(8);
  ASSERT_TRUE(first && second);
  job_.take(*first, 1);
  job_.take(*first, 2);
  EXPECT_EQ(driver_.taken(7), 2U);
  EXPECT_EQ(driver_.taken(8), 0U);
  EXPECT_EQ(driver_.taken(9), 0U);
  job_.close(*first);
  job_.open(9);
  EXPECT_EQ(driver_.taken(7), 0U);
  EXPECT_EQ(driver_.end().taken,
            (std::map<std::uint64_t, std::uint32_t>{{8, 0}, {9, 0}}));
}

TEST_F(Ledger, a_job_is_told_once_that_the_driver_wants_a_message) {
  auto line = job_.open(7);
  EXPECT_FALSE(job_.take(*line, 1));
  driver_.request_report(7);
  EXPECT_TRUE(job_.take(*line, 2));
  EXPECT_FALSE(job_.take(*line, 3));
  EXPECT_EQ(driver_.taken(7), 3U);
}

TEST_F(Ledger, a_ledger_has_a_fixed_number_of_lines) {
  std::size_t lines = 0;
  while (job_.open(100 + lines))
    ++lines;
  EXPECT_GE(lines, 32U);
  job_.close(3);
  EXPECT_EQ(job_.open(1), 3U);
}

TEST_F(Ledger, puts_are_kept_until_they_are_received) {
  for (auto* text : {"one", "two", "", "three"})
    ASSERT_TRUE(job_.put(5, bytes_in(text)));
  driver_.received(3);
  auto last = driver_.end();
  ASSERT_EQ(last.puts.size(), 3U);
  EXPECT_EQ(last.puts.at(0).first, 5U);
  EXPECT_EQ(text_of(last.puts.at(0).second), "two");
  EXPECT_EQ(text_of(last.puts.at(1).second), "");
  EXPECT_EQ(text_of(last.puts.at(2).second), "three");
  EXPECT_TRUE(driver_.end().puts.empty());
}

TEST_F(Ledger, room_is_reused_when_all_puts_were_sent) {
  const std::string item(1000, 'x');
  std::size_t most = 0;
  while (job_.put(5, bytes_in(item)))
    ++most;
  EXPECT_GT(most, 400U);
  for (int round = 0; round < 5; ++round) {
    job_.sent();
    for (std::size_t i = 0; i < most; ++i)
      driver_.received(item.size());
    for (std::size_t i = 0; i < most; ++i)
      ASSERT_TRUE(job_.put(5, bytes_in(item)));
    EXPECT_FALSE(job_.put(5, bytes_in(item)));
  }
  EXPECT_EQ(driver_.end().puts.size(), most);
}

TEST_F(Ledger, malformed_puts_are_ignored) {
  job_.put(5, bytes_in("good"));
  std::string nonsense(JobLedger::bytes, '\x7f');
  std::memcpy(page_->data() + 64, nonsense.data(), nonsense.size());
  EXPECT_TRUE(driver_.end().puts.empty());
}

TEST_F(Ledger, the_driver_knows_the_last_step_of_a_killed_process) {
  auto line = job_.open(7);
  auto child = fork();
  if (child == 0)
    for (std::uint32_t i = 1;; ++i) {
      auto number = std::to_string(i);
      job_.put(5, bytes_in(number));
      job_.take(*line, i & 0xfff);
      if (i == 1000)
        kill(getpid(), SIGKILL);
    }
  waitpid(child, nullptr, 0);
  auto last = driver_.end();
  EXPECT_EQ(last.taken.at(7), 1000U);
  ASSERT_EQ(last.puts.size(), 1000U);
  EXPECT_EQ(text_of(last.puts.back().second), "1000");
}

TEST_F(Ledger, a_job_that_was_declared_dead_takes_nothing) {
  auto line = job_.open(7);
  auto child = fork();
  if (child == 0)
    for (std::uint32_t i = 1;; ++i)
      job_.take(*line, i & 0xfff);
  while (driver_.taken(7) == 0) {
  }
  auto last = driver_.end().taken.at(7);
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(driver_.taken(7), last);
  EXPECT_EQ(waitpid(child, nullptr, WNOHANG), 0);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

} // namespace
} // namespace fiber::actors
