// SPDX-License-Identifier: Apache-2.0
// The picture has a strip for each environment, and agents come back from their files.

#include "rl/poet/picture.hpp"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

#include <gtest/gtest.h>

#include "rl/poet/files.hpp"
#include "rl/poet/poet.hpp"

namespace fiber::rl::poet {
namespace {

namespace fs = std::filesystem;

struct FilesTest : testing::Test {
  fs::path folder;
  PoetOptions options;
  std::vector<float> noise;
  PoetState state;

  FilesTest() {
    auto pattern = (fs::temp_directory_path() / "fiber-poet-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), "mkdtemp");
    folder = pattern;
    options.hidden = {};
    options.table_size = 1 << 12;
    options.max_steps = 50;
    noise = make_noise_table(options.table_size, options.seed);
    state = Poet(options, noise).state();
    auto second = state.pairs[0];
    second.niche.id = 2;
    second.niche.parameters.stump_height = {0, 0.4};
    state.pairs.push_back(second);
    state.events.push_back({.iteration = 6,
                            .what = Event::What::admitted,
                            .environment = 2,
                            .parent = 1,
                            .agent = 1,
                            .way = Way::proposal,
                            .parameters = second.niche.parameters});
  }
  ~FilesTest() override { fs::remove_all(folder); }

  static std::string text(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

TEST_F(FilesTest, a_picture_shows_every_environment_with_its_parent_and_its_agents) {
  std::vector<Trace> traces;
  for (const auto& pair : state.pairs)
    traces.push_back(trace_episode(job_of(options, pair, 0), 0));
  EXPECT_GT(traces[0].path.size(), 10u);
  EXPECT_EQ(traces[0].terrain.heights.size(), Terrain::points);
  EXPECT_FALSE(traces[1].terrain.boxes.empty());
  ASSERT_TRUE(draw_pairs(folder / "all.png", state, traces, "it's a title"));
  EXPECT_TRUE(text(folder / "all.png").starts_with("\x89PNG"));
  const auto script = text(folder / "all.gnuplot");
  EXPECT_NE(script.find("child of E1, since iteration 6  |  agents from: E1 at 6*"),
            std::string::npos);
  traces.pop_back();
  EXPECT_THROW(draw_pairs(folder / "all.png", state, traces, ""), std::invalid_argument);
}

TEST_F(FilesTest, a_saved_agent_plays_in_its_environment) {
  const Files files(folder, options);
  files.save_agents(state);
  const auto agent = load_agent(files.agents() / "E2");
  EXPECT_EQ(agent.environment, 2u);
  EXPECT_EQ(agent.parameters, state.pairs[1].niche.parameters);
  EXPECT_EQ(play_episode(agent.job, 0).result,
            play_episode(job_of(options, state.pairs[1], state.iteration), 0).result);
  play_agent(files.agents() / "E2", 1, folder / "walk.gif");
  EXPECT_TRUE(text(folder / "walk.gif").starts_with("GIF89a"));
  state.pairs.erase(state.pairs.begin());
  files.save_agents(state);
  EXPECT_FALSE(fs::exists(files.agents() / "E1")) << "retired";
  EXPECT_THROW(load_agent(files.agents() / "E1"), std::runtime_error);
}

TEST_F(FilesTest, a_checkpoint_of_other_options_is_refused_by_their_name) {
  Files(folder, options).save(state);
  EXPECT_EQ(Files(folder, options).load()->pairs.size(), 2u);
  auto other = options;
  other.neighbours = 6;
  try {
    Files(folder, other).load();
    FAIL() << "accepted";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("neighbours: saved with 5, now 6"),
              std::string::npos)
      << error.what();
  }
  other = options;
  other.iterations = 9; // May differ.
  EXPECT_TRUE(Files(folder, other).load());
}

} // namespace
} // namespace fiber::rl::poet
