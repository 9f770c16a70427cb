// SPDX-License-Identifier: Apache-2.0
// The log of a run that was killed and resumed is that of a run that was not.

#include "fiber/rl/training_log.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

namespace fiber::rl {
namespace {

namespace fs = std::filesystem;

constexpr double none = std::numeric_limits<double>::quiet_NaN();

class TrainingLogTest : public testing::Test {
protected:
  TrainingLogTest() {
    auto pattern = (fs::temp_directory_path() / "fiber-rl-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), "mkdtemp");
    folder_ = fs::path(pattern) / "run";
  }
  ~TrainingLogTest() override { fs::remove_all(folder_.parent_path()); }

  TrainingLogOptions options(std::optional<std::uint64_t> resume_after = {}) const {
    return {.folder = folder_,
            .columns = {"return", "loss/policy"},
            .resume_after = resume_after};
  }
  std::string csv() const {
    std::ifstream in(folder_ / "curve.csv");
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::size_t event_files() const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(folder_))
      count += entry.path().filename().string().find("tfevents") != std::string::npos;
    return count;
  }

  fs::path folder_;
};

void add_rows(TrainingLog& log, std::uint64_t first, std::uint64_t last) {
  for (auto step = first; step <= last; step += 10)
    log.add(step, std::vector{static_cast<double>(step) / 4, -0.5});
}

TEST_F(TrainingLogTest, is_a_csv_file_with_empty_fields_for_what_is_not_known) {
  TrainingLog log(options());
  log.add(10, std::vector{none, 0.1});
  log.add(20, std::vector{1.0 / 3, 1e-9});
  EXPECT_EQ(csv(), "step,return,loss/policy\n"
                   "10,,0.1\n"
                   "20,0.3333333333333333,1e-09\n");
  EXPECT_EQ(event_files(), 1);
}

TEST_F(TrainingLogTest, a_resumed_run_has_the_curve_of_an_undisturbed_one) {
  {
    TrainingLog log(options());
    add_rows(log, 10, 100);
  }
  const auto undisturbed = csv();
  {
    TrainingLog log(options());
    add_rows(log, 10, 70); // The checkpoint was of step 40.
  }
  std::ofstream(folder_ / "curve.csv", std::ios::app) << "80,2"; // Cut off by the kill.
  {
    TrainingLog log(options(40));
    add_rows(log, 50, 100);
    log.sync();
  }
  EXPECT_EQ(csv(), undisturbed);
  EXPECT_EQ(event_files(), 2);
}

TEST_F(TrainingLogTest, a_cut_off_line_is_dropped_even_if_its_step_looks_smaller) {
  { TrainingLog log(options()); }
  std::ofstream(folder_ / "curve.csv", std::ios::app) << "10,1,2\n2,5"; // Of "20,5,6".
  TrainingLog log(options(10));
  EXPECT_EQ(csv(), "step,return,loss/policy\n10,1,2\n");
}

TEST_F(TrainingLogTest, a_new_run_begins_anew) {
  {
    TrainingLog log(options());
    add_rows(log, 10, 30);
  }
  std::ofstream(folder_ / "events.out.tfevents.7.other") << "another program's";
  TrainingLog log(options());
  EXPECT_EQ(csv(), "step,return,loss/policy\n");
  EXPECT_EQ(event_files(), 2);
}

TEST_F(TrainingLogTest, does_without_event_files) {
  auto without = options();
  without.tensorboard = false;
  TrainingLog log(without);
  add_rows(log, 10, 10);
  EXPECT_EQ(event_files(), 0);
}

TEST_F(TrainingLogTest, does_not_go_on_with_a_log_of_other_columns) {
  { TrainingLog log(options()); }
  auto other = options(0);
  other.columns = {"return"};
  EXPECT_THROW(TrainingLog log(other), std::runtime_error);
  std::ofstream(folder_ / "curve.csv", std::ios::app) << "hello\n10,1,2\n";
  EXPECT_THROW(TrainingLog log(options(0)), std::runtime_error);
}

TEST_F(TrainingLogTest, refuses_rows_that_do_not_fit) {
  TrainingLog log(options());
  add_rows(log, 10, 20);
  EXPECT_THROW(log.add(20, std::vector{1.0, 2.0}), std::invalid_argument);
  EXPECT_THROW(log.add(30, std::vector{1.0}), std::invalid_argument);
  EXPECT_THROW(log.plot({"reward"}, {}), std::invalid_argument);
  auto bad = options();
  bad.columns = {"a,b"};
  EXPECT_THROW(TrainingLog other(bad), std::invalid_argument);
}

TEST_F(TrainingLogTest, draws_its_columns_if_gnuplot_is_here) {
  TrainingLog log(options());
  add_rows(log, 10, 50);
  log.add(60, std::vector{none, 0.0});
  log.add(70, std::vector{20.0, 0.0});
  const bool drawn = log.plot(
    {"return"},
    {.title = "it's a run", .solved_at = 15, .point = {{70, 18, "it's the end"}}});
  if (std::system("command -v gnuplot > /dev/null") != 0)
    GTEST_SKIP() << "gnuplot is not installed";
  ASSERT_TRUE(drawn);
  std::ifstream png(folder_ / "curve.png", std::ios::binary);
  std::string start(8, ' ');
  png.read(start.data(), 8);
  EXPECT_EQ(start, "\x89PNG\r\n\x1a\n");
  std::ifstream script(folder_ / "curve.gnuplot");
  const std::string text(std::istreambuf_iterator<char>(script), {});
  EXPECT_NE(text.find("\n70,18\n"), std::string::npos) << text;
}

} // namespace
} // namespace fiber::rl
