// SPDX-License-Identifier: Apache-2.0
// The promise: no text that a program reads depends on the locale. A checkpoint of one
// locale is resumed in another one, gnuplot reads each script, and --sigma 0.05 is 0.05.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>
#include <unistd.h>

#include "fiber/rl/checkpoint_file.hpp"
#include "fiber/rl/detail/parse_options.hpp"
#include "fiber/rl/evolution_training.hpp"
#include "fiber/rl/genetic.hpp"
#include "fiber/rl/live_line.hpp"
#include "fiber/rl/plot.hpp"
#include "fiber/rl/policy.hpp"
#include "fiber/rl/population.hpp"
#include "fiber/rl/training_log.hpp"
#include "tests/locale/comma_locale.hpp"
#ifdef HAS_POET
#include "rl/poet/options.hpp"
#include "rl/poet/picture.hpp"
#endif

namespace fiber::rl {
namespace {

namespace fs = std::filesystem;
using fiber::test::CommaLocale;

class CommaLocaleTest : public testing::Test {
protected:
  CommaLocaleTest() { fs::create_directories(folder); }
  ~CommaLocaleTest() override { fs::remove_all(folder); }

  static std::string content(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder = fs::path(testing::TempDir()) / ("comma." + std::to_string(getpid()));
};

TEST_F(CommaLocaleTest, is_one_in_which_streams_write_a_comma) {
  const CommaLocale locale;
  std::ostringstream out;
  out << 1234567 << ' ' << 0.5;
  EXPECT_EQ(out.str(), "1.234.567 0,5");
}

/// Saves under one locale and loads under the other one, both ways.
void expect_one_label(const fs::path& file,
                      std::map<std::string, std::string> (*settings)()) {
  const auto label = [&] { return FileLabel{.kind = "test", .settings = settings()}; };
  save_state(file, label(), 1234567.5);
  {
    const CommaLocale locale;
    EXPECT_EQ(load_state<double>(file, label()), 1234567.5);
    save_state(file, label(), 0.25);
  }
  EXPECT_EQ(load_state<double>(file, label()), 0.25);
}

TEST_F(CommaLocaleTest, a_checkpoint_of_an_evolution_strategy_is_resumed_in_another_one) {
  expect_one_label(folder / "es",
                   [] { return evolution_options("cartpole").settings(); });
}

TEST_F(CommaLocaleTest, a_checkpoint_of_a_genetic_algorithm_is_resumed_in_another_one) {
  expect_one_label(folder / "ga", [] {
    return GeneticOptions{.environment = "cartpole", .solved_at = 474.5}.settings();
  });
}

TEST_F(CommaLocaleTest, a_checkpoint_of_a_population_is_resumed_in_another_one) {
  expect_one_label(folder / "pbt", [] {
    return PopulationOptions{.seed = 123456,
                             .ranges = {{.name = "rate", .low = 0.001, .high = 0.5}}}
      .settings();
  });
}

TEST_F(CommaLocaleTest, a_label_has_the_numbers_that_older_versions_wrote) {
  const CommaLocale locale;
  const auto settings = evolution_options("cartpole").settings();
  EXPECT_EQ(settings.at("table"), "4194304");
  EXPECT_EQ(settings.at("Adam"), "0.90000000000000002 0.999 1e-08");
}

TEST_F(CommaLocaleTest, a_network_for_images_has_the_name_that_checkpoints_have) {
  const PolicySpec network{.spaces = {.observation_shape = {4}, .actions = 2},
                           .hidden = {8},
                           .observation_scale = 0.5F};
  const CommaLocale locale;
  EXPECT_EQ(network.describe(), "4 * 0.500000 -> 8 -> 2 logits, tanh");
}

TEST_F(CommaLocaleTest, the_line_of_a_training_has_points_before_decimals) {
  const CommaLocale locale;
  const auto line = describe(TrainingStatus{.step = 1234567, .mean_return = 1.5});
  EXPECT_NE(line.find("1,234,567"), std::string::npos) << line;
  EXPECT_NE(line.find("return 1.5"), std::string::npos) << line;
}

TEST_F(CommaLocaleTest, a_plot_is_the_same) {
  write_atomically(folder / "a.csv", "step,return\n1000,0.5\n2000,1.5\n");
  const PlotStyle style{.title = "A",
                        .solved_at = 1234.5,
                        .point = PlottedPoint{.x = 1500.25, .y = 0.75, .title = "end"}};
  const auto script = [&] {
    plot_csv(folder / "a.csv", folder / "a.png", style, {{.column = 2, .title = "r"}});
    return content(folder / "a.gnuplot");
  };
  const auto expected = script();
  EXPECT_NE(expected.find("size 1200,720"), std::string::npos) << expected;
  EXPECT_NE(expected.find("first 1234.5 to"), std::string::npos) << expected;
  const CommaLocale locale;
  EXPECT_EQ(script(), expected);
}

TEST_F(CommaLocaleTest, an_option_has_a_point_before_its_decimals) {
  const CommaLocale locale;
  double sigma = 0;
  std::size_t table = 0;
  CLI::App app;
  app.add_option("--sigma", sigma)->check(CLI::PositiveNumber);
  app.add_option("--table", table)->check(CLI::Range(1, 100'000'000));
  std::string words[] = {"program", "--sigma", "0.05", "--table", "4194304"};
  char* arguments[5];
  std::ranges::transform(words, arguments, [](std::string& word) { return word.data(); });
  EXPECT_EQ(detail::parse_options(app, 5, arguments), std::nullopt);
  EXPECT_EQ(sigma, 0.05);
  EXPECT_EQ(table, 4194304U);
  std::ostringstream out;
  out << 0.5;
  EXPECT_EQ(out.str(), "0,5"); // The program keeps its locale.
}

#ifdef HAS_POET
TEST_F(CommaLocaleTest, a_checkpoint_of_poet_is_resumed_in_another_one) {
  expect_one_label(folder / "poet", [] {
    return poet::PoetOptions{.hidden = {4000, 40}, .sigma = 0.125}.settings();
  });
}

TEST_F(CommaLocaleTest, a_picture_of_poet_is_the_same) {
  poet::PoetState state;
  state.pairs.resize(1);
  state.pairs[0].score = 1234.5;
  state.pairs[0].niche.parameters.roughness = 1.25;
  poet::Trace trace;
  trace.terrain.heights.assign(200, 1.25F);
  trace.path = {{.x = 4.5, .y = 5.25}, {.x = 8.5, .y = 5.25}};
  const auto script = [&] {
    poet::draw_pairs(folder / "p.png", state, std::vector{trace}, "POET");
    return content(folder / "p.gnuplot");
  };
  const auto expected = script();
  EXPECT_NE(expected.find("return 1234.5"), std::string::npos) << expected;
  const CommaLocale locale;
  EXPECT_EQ(script(), expected);
}
#endif

} // namespace
} // namespace fiber::rl
