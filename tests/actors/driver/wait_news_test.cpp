// SPDX-License-Identifier: Apache-2.0
// The promise: the log says once what jobs wait for, however many they are.
#include "actors/driver/wait_news.hpp"

#include <gtest/gtest.h>

namespace fiber::actors {
namespace {

using NewsLines = std::vector<std::string>;

TEST(WaitNews, jobs_that_wait_for_the_same_are_one_line) {
  WaitNews news;
  EXPECT_EQ(news.take(), NewsLines());
  for (auto* job : {"a", "b", "c"})
    news.waits(job, "Unschedulable: 0/2 nodes");
  news.waits("d", "Priority");
  EXPECT_EQ(news.take(), (NewsLines{"d waits: Priority", "a and 2 other jobs wait: "
                                                         "Unschedulable: 0/2 nodes"}));
}

TEST(WaitNews, other_words_of_a_known_reason_are_no_news) {
  WaitNews news;
  news.waits("a", "Unschedulable: 0/2 nodes");
  EXPECT_EQ(news.take().size(), 1u);
  news.waits("a", "Unschedulable: 0/3 nodes");
  news.waits("b", "Unschedulable: 0/3 nodes");
  EXPECT_EQ(news.take(), NewsLines());
  news.waits("b", "ErrImagePull: no such host");
  EXPECT_EQ(news.take(), NewsLines{"b waits: ErrImagePull: no such host"});
}

TEST(WaitNews, a_wait_that_is_over_is_no_news) {
  WaitNews news;
  news.waits("a", "Resources");
  news.waits("a", "");
  news.waits("b", "");
  EXPECT_EQ(news.take(), NewsLines());
}

TEST(WaitNews, once_no_job_waits_all_reasons_are_new) {
  WaitNews news;
  news.waits("a", "Resources");
  news.waits("b", "Resources");
  EXPECT_EQ(news.take(), NewsLines{"a and 1 other job wait: Resources"});
  news.waits("a", "");
  news.waits("c", "Resources");
  EXPECT_EQ(news.take(), NewsLines());
  news.waits("b", "");
  news.waits("c", "");
  news.waits("d", "Resources");
  EXPECT_EQ(news.take(), NewsLines{"d waits: Resources"});
}

} // namespace
} // namespace fiber::actors
