// SPDX-License-Identifier: Apache-2.0
#include "rl/poet/files.hpp"

#include <chrono>
#include <cstdio>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>

#include "fiber/rl/checkpoint_file.hpp"
#include "fiber/rl/detail/formatted.hpp"
#include "fiber/rl/image.hpp"
#include "rl/poet/poet.hpp"
#include "rl/poet/report.hpp"

namespace fiber::rl::poet {
namespace {

namespace fs = std::filesystem;

constexpr const char* agent_kind = "fiber-poet-agent";

FileLabel checkpoint_label(const PoetOptions& options) {
  return {.kind = "fiber-poet-checkpoint", .version = 1, .settings = options.settings()};
}

} // namespace

Files::Files(fs::path folder, const PoetOptions& options)
  : folder_(std::move(folder)), options_(options) {
  fs::create_directories(agents());
}

void Files::save(const PoetState& state) const {
  write_atomically(folder_ / "returns.csv", returns_csv(state));
  write_atomically(folder_ / "events.csv", events_csv(state));
  save_state(checkpoint(), checkpoint_label(options_), state);
}

std::optional<PoetState> Files::load() const {
  return load_state<PoetState>(checkpoint(), checkpoint_label(options_));
}

void Files::save_agents(const PoetState& state) const {
  for (const auto& file : fs::directory_iterator(agents()))
    if (file.path().filename().string().starts_with('E'))
      fs::remove(file.path());
  for (const auto& pair : state.pairs) {
    const SavedAgent agent{.environment = pair.niche.id,
                           .parameters = pair.niche.parameters,
                           .score = pair.score,
                           .job = job_of(options_, pair, state.iteration)};
    save_state(
      agents() / ("E" + std::to_string(pair.niche.id)),
      {.kind = agent_kind, .settings = {{"terrain", describe(pair.niche.parameters)}}},
      agent);
  }
}

SavedAgent load_agent(const fs::path& path) {
  auto agent = load_state<SavedAgent>(path, {.kind = agent_kind});
  if (!agent)
    throw std::runtime_error("there is no file " + path.string() +
                             "; poet saves agents in OUT/agents");
  return std::move(*agent);
}

void play_agent(const fs::path& path, std::uint64_t seed, const fs::path& gif) {
  auto agent = load_agent(path);
  agent.job.generation.seed = seed;
  agent.job.generation.iteration = std::numeric_limits<std::uint64_t>::max();
  std::vector<Image> images;
  std::size_t step = 0;
  const auto see = [&](Image image) {
    if (step++ % 2 == 0) // 25 pictures a second.
      images.push_back(std::move(image));
  };
  const auto trace =
    trace_episode(agent.job, 0, gif.empty() ? std::function<void(Image)>() : see);
  const auto line = detail::formatted(
    "E%llu (%s): return %.1f, %s at %.1f m after %zu steps\n",
    static_cast<unsigned long long>(agent.environment),
    describe(agent.parameters).c_str(), trace.result, trace.fell ? "fell" : "ended",
    trace.path.back().x, trace.path.size() - 1);
  std::fputs(line.c_str(), stdout);
  if (!gif.empty()) {
    write_gif(gif, images, std::chrono::milliseconds(40));
    std::printf("%zu pictures saved to %s\n", images.size(), gif.c_str());
  }
}

} // namespace fiber::rl::poet
