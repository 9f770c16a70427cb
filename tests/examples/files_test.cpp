// SPDX-License-Identifier: Apache-2.0
// What is saved reads back as it was, and what is damaged is noticed.

#include "es/files.hpp"

#include <fstream>
#include <iterator>

#include <unistd.h>

#include <gtest/gtest.h>

namespace es {
namespace {

namespace fs = std::filesystem;

struct FilesTest : testing::Test {
  fs::path folder =
    fs::path(testing::TempDir()) / ("fiber-es-" + std::to_string(getpid()));
  fs::path path = folder / "file";

  FilesTest() { fs::create_directories(folder); }
  ~FilesTest() override { fs::remove_all(folder); }

  std::string content() const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void overwrite(const std::string& text) const {
    std::ofstream(path, std::ios::binary) << text;
  }
};

TrainingState some_state() {
  TrainingState state;
  state.optimizer = {.iteration = 3,
                     .parameters = {0.1f, -1e-30f},
                     .moment1 = {1.0 / 3, 2},
                     .moment2 = {0, 4}};
  state.curve = {{.iteration = 1, .policy_mean = 20.5, .seconds = 0.25, .episodes = 7}};
  return state;
}

TEST_F(FilesTest, an_atomic_write_replaces_the_content_and_leaves_nothing_else) {
  write_atomically(path, "a long first content");
  write_atomically(path, "second");
  EXPECT_EQ(content(), "second");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
}

TEST_F(FilesTest, a_write_that_fails_names_the_file_and_keeps_the_old_content) {
  write_atomically(path, "old");
  fs::create_directory(folder / "file.new"); // In the way of the temporary file.
  EXPECT_THROW(write_atomically(path, "new"), std::system_error);
  EXPECT_EQ(content(), "old");
  EXPECT_THROW(write_atomically(folder / "none" / "file", "x"), std::system_error);
}

TEST_F(FilesTest, a_checkpoint_reads_back_as_it_was) {
  save_checkpoint(path, "options", some_state());
  const auto state = load_checkpoint(path, "options");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->optimizer.iteration, 3u);
  EXPECT_EQ(state->optimizer.parameters, some_state().optimizer.parameters);
  EXPECT_EQ(state->optimizer.moment1, some_state().optimizer.moment1);
  EXPECT_EQ(state->optimizer.moment2, some_state().optimizer.moment2);
  ASSERT_EQ(state->curve.size(), 1u);
  EXPECT_EQ(state->curve[0].policy_mean, 20.5);
  EXPECT_EQ(state->curve[0].episodes, 7u);
}

TEST_F(FilesTest, no_checkpoint_is_not_an_error) {
  EXPECT_FALSE(load_checkpoint(path, "options"));
}

TEST_F(FilesTest, a_checkpoint_with_any_byte_changed_or_missing_is_refused) {
  save_checkpoint(path, "options", some_state());
  const auto good = content();
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    overwrite(bad);
    EXPECT_THROW(load_checkpoint(path, "options"), std::runtime_error) << "byte " << i;
    overwrite(good.substr(0, i));
    EXPECT_THROW(load_checkpoint(path, "options"), std::runtime_error) << "size " << i;
  }
}

TEST_F(FilesTest, a_checkpoint_of_other_options_is_refused_naming_both) {
  save_checkpoint(path, "seed=1", some_state());
  try {
    load_checkpoint(path, "seed=2");
    FAIL() << "no exception";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("seed=1"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("seed=2"), std::string::npos);
  }
}

TEST_F(FilesTest, a_policy_reads_back_to_the_last_bit) {
  const SavedPolicy policy = {.environment = "pendulum",
                              .shape = {.observations = 1, .hidden = 1, .actions = 1},
                              .parameters = {1.0f / 3, -1e-30f, 3e38f, 0.0f}};
  save_policy(path, policy);
  const auto loaded = load_policy(path);
  EXPECT_EQ(loaded.environment, policy.environment);
  EXPECT_EQ(loaded.shape, policy.shape);
  EXPECT_EQ(loaded.parameters, policy.parameters);
}

TEST_F(FilesTest, what_is_no_policy_is_refused) {
  const std::string head = "fiber-es-policy 1\nenvironment x\nobservations 0\nhidden "
                           "0\nactions 1\nparameters 1\n";
  overwrite(head + "0.5\n");
  EXPECT_EQ(load_policy(path).parameters, std::vector<float>{0.5f});
  for (const auto& bad : {std::string(), std::string("hello\n"), head, head + "0.5\n1\n",
                          head + "0.5x\n", head.substr(0, 40)}) {
    overwrite(bad);
    EXPECT_THROW(load_policy(path), std::runtime_error) << bad;
  }
  EXPECT_THROW(load_policy(folder / "none"), std::runtime_error);
}

TEST_F(FilesTest, a_curve_is_csv_with_a_header) {
  save_curve(path, some_state().curve);
  EXPECT_EQ(content(),
            "iteration,population_mean,population_best,policy_mean,seconds,episodes\n"
            "1,0,0,20.5,0.25,7\n");
}

TEST_F(FilesTest, a_plot_is_drawn_whatever_the_path_is_called) {
  const auto odd = folder / "it's a $(folder)";
  fs::create_directories(odd);
  save_curve(odd / "curve.csv", some_state().curve);
  ASSERT_TRUE(plot_curve(odd / "curve.csv", odd / "curve.png", "it's a title", 475.0,
                         {{2, "it's a curve"}, {4, "another"}}));
  std::ifstream png(odd / "curve.png", std::ios::binary);
  std::string head(4, ' ');
  png.read(head.data(), 4);
  EXPECT_EQ(head, "\x89PNG");
}

} // namespace
} // namespace es
