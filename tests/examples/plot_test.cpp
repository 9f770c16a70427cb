// SPDX-License-Identifier: Apache-2.0
// A plot is drawn from a CSV file, whatever the folder is called.
#include "es/plot.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include <gtest/gtest.h>

namespace es {
namespace {

namespace fs = std::filesystem;

TEST(PlotTest, is_drawn_whatever_the_path_is_called) {
  const auto odd =
    fs::path(testing::TempDir()) / ("it's a $(folder) " + std::to_string(getpid()));
  fs::create_directories(odd);
  std::ofstream(odd / "curve.csv") << "iteration,a,b,c\n1,0,2,3\n2,1,3,4\n";
  ASSERT_TRUE(plot_curve(odd / "curve.csv", odd / "curve.png",
                         {.title = "it's a title", .mark = 475.0},
                         {{2, "it's a curve"}, {4, "another"}}));
  std::ifstream png(odd / "curve.png", std::ios::binary);
  std::string head(4, ' ');
  png.read(head.data(), 4);
  EXPECT_EQ(head, "\x89PNG");
  fs::remove_all(odd);
}

} // namespace
} // namespace es
