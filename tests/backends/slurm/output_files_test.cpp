// SPDX-License-Identifier: Apache-2.0
// The promise: what a job prints arrives, and nothing besides when it ends as was asked.
#include "backends/slurm/output_files.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace fiber::backends::slurm {

namespace {

constexpr auto cancelled =
  "slurmstepd-n1: error: *** JOB 64 ON n1 CANCELLED AT 2026-11-26T21:38:14 ***\n";
constexpr auto limit = "slurmstepd-n1: error: *** JOB 64 ON n1 CANCELLED AT "
                       "2026-11-26T21:38:14 DUE TO TIME LIMIT ***\n";

class OutputFilesTest : public testing::Test {
protected:
  OutputFilesTest() {
    char name[] = "/tmp/fiber-output-XXXXXX";
    path_ = std::string(::mkdtemp(name)) + "/output";
    output_.add(key, "job");
    files_.add(key, path_);
  }
  ~OutputFilesTest() override {
    std::filesystem::remove_all(std::filesystem::path(path_).parent_path());
  }

  void write(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }
  std::string finish() {
    files_.finish(key);
    return output_.last(key);
  }

  static constexpr Output::Key key = 1;
  std::string path_;
  Output output_{false};
  OutputFiles files_{output_};
};

TEST_F(OutputFilesTest, leave_out_that_slurm_cancels_a_job_that_was_to_end) {
  write("one\n");
  files_.read_all();
  files_.end_is_wanted(key);
  write(std::string("two\n") + cancelled + "three");
  EXPECT_EQ(finish(), "one\ntwo\nthree");
}

TEST_F(OutputFilesTest, tell_that_somebody_else_cancels_a_job) {
  write(std::string("one\n") + cancelled);
  EXPECT_EQ(finish(), std::string("one\n") + cancelled);
}

TEST_F(OutputFilesTest, tell_of_a_time_limit_always) {
  files_.end_is_wanted(key);
  write(limit);
  EXPECT_EQ(finish(), limit);
}

} // namespace

} // namespace fiber::backends::slurm
