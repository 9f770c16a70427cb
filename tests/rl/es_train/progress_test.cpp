// SPDX-License-Identifier: Apache-2.0
// The progress line offers no pid to kill that is another process on this computer.

#include "rl/es_train/progress.hpp"

#include <cstdio>
#include <memory>
#include <regex>

#include <gtest/gtest.h>

namespace fiber::rl::es_train {
namespace {

std::string line_of(const std::vector<Worker>& workers) {
  char* text = nullptr;
  std::size_t size = 0;
  auto* out = ::open_memstream(&text, &size);
  {
    Progress progress(out);
    progress.show({.iteration = 1}, 3, workers);
  }
  std::fclose(out);
  const std::unique_ptr<char, decltype(&std::free)> owner(text, &std::free);
  const std::string line(text, size);
  return line.substr(line.find(" s") + 2);
}

TEST(ProgressTest, names_the_pids_of_workers_here) {
  const auto here = this_worker().place;
  EXPECT_EQ(line_of({{12, here}, {34, here}}), "  pids 12 34\n");
}

TEST(ProgressTest, counts_workers_elsewhere) {
  const auto here = this_worker().place;
  EXPECT_EQ(line_of({{6, here + 1}}), "  1 worker elsewhere\n");
  EXPECT_EQ(line_of({{6, here + 1}, {6, here + 2}}), "  2 workers elsewhere\n");
  EXPECT_EQ(line_of({{6, here + 1}, {12, here}}), "  1 worker elsewhere  pids 12\n");
}

} // namespace
} // namespace fiber::rl::es_train
