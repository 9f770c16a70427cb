// SPDX-License-Identifier: Apache-2.0
// The promise: a job's log records reach the driver with the task that they come from;
// without a driver they go to the sinks that the logger had before.

#include "actors/protocol/job_log.hpp"

#include <sstream>

#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include "actors/core/task_context.hpp"
#include "wire/stream_link.hpp"

namespace fiber::actors {
namespace {

class Records final : public wire::LinkHandler {
public:
  void on_message(wire::StreamId stream, Bytes message) override {
    EXPECT_EQ(stream, task_stream);
    Reader reader(message);
    EXPECT_EQ(read_op(reader), Op::log);
    all.push_back(read_log(reader));
  }
  void on_silence() override {}
  void on_closed(const wire::LinkEnd&) override {}

  std::vector<LogRecord> all;
};

struct JobLogTest : testing::Test {
  JobLogTest() {
    auto before = std::make_shared<spdlog::sinks::ostream_sink_mt>(text);
    before->set_pattern("%l %v");
    sink = std::make_shared<JobLog>(link.first, std::vector<spdlog::sink_ptr>{before});
    logger = std::make_shared<spdlog::logger>("job", sink);
  }
  std::pair<std::shared_ptr<wire::Link>, std::shared_ptr<wire::Link>> link =
    wire::loopback();
  std::shared_ptr<Records> records = std::make_shared<Records>();
  std::ostringstream text;
  std::shared_ptr<JobLog> sink;
  std::shared_ptr<spdlog::logger> logger;
};

TEST_F(JobLogTest, a_record_has_the_level_the_text_and_the_task_of_the_thread) {
  link.second->start(records);
  logger->warn("at rest");
  {
    TaskContext task{.index = 7, .attempt = 2, .rank = 1};
    TaskScope scope(task);
    logger->error("at {}", "work");
  }
  logger->debug("below the level");
  ASSERT_EQ(records->all.size(), 2u);
  EXPECT_EQ(records->all[0].level, spdlog::level::warn);
  EXPECT_EQ(records->all[0].text, "at rest");
  EXPECT_EQ(records->all[0].attempt, 0u);
  EXPECT_EQ(records->all[1].level, spdlog::level::err);
  EXPECT_EQ(records->all[1].text, "at work");
  EXPECT_EQ(records->all[1].index, 7u);
  EXPECT_EQ(records->all[1].attempt, 2u);
  EXPECT_EQ(text.str(), "");
}

TEST_F(JobLogTest, a_record_that_no_driver_takes_stays_in_the_job) {
  link.second->start(records);
  sink->link_over();
  logger->warn("silence");
  EXPECT_EQ(text.str(), "warning silence\n");
  EXPECT_TRUE(records->all.empty());
}

TEST_F(JobLogTest, a_record_after_the_end_of_the_link_stays_in_the_job) {
  link.second->close();
  logger->warn("closed");
  EXPECT_EQ(text.str(), "warning closed\n");
}

TEST_F(JobLogTest, the_backlog_for_a_driver_that_reads_nothing_is_bounded) {
  std::string line(1000, 'x');
  for (int i = 0; i < 2000; ++i)
    logger->warn(line);
  EXPECT_LT(link.first->backlog(), 1500000u);
  EXPECT_NE(text.str(), "");
}

} // namespace
} // namespace fiber::actors
