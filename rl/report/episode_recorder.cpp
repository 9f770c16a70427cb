// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <exception>
#include <filesystem>
#include <stdexcept>

#include "fiber/rl/wrappers.hpp"

namespace fiber::rl::detail {
namespace recording {
namespace {

/// The schedule of Gymnasium's RecordVideo.
bool cubes_then_thousands(std::uint64_t episode) {
  if (episode >= 1000)
    return episode % 1000 == 0;
  const auto root = static_cast<std::uint64_t>(std::lround(std::cbrt(episode)));
  return root * root * root == episode;
}

} // namespace
} // namespace recording

EpisodeRecorder::EpisodeRecorder(RecordOptions options) : options_(std::move(options)) {
  if (options_.pictures == 0)
    throw std::invalid_argument("RecordOptions::pictures must be 1 or more");
}

EpisodeRecorder::~EpisodeRecorder() {
  try {
    end();
  } catch (const std::exception&) {
    // A destructor has no one to tell. reset() and step() have.
  }
}

void EpisodeRecorder::begin(std::uint64_t seed) {
  end();
  const auto episode = episodes_++;
  seed_ = seed;
  recording_ = options_.every == 0 ? recording::cubes_then_thousands(episode)
                                   : episode % options_.every == 0;
}

void EpisodeRecorder::end() {
  const auto pictures = std::exchange(pictures_, {});
  if (!std::exchange(recording_, false) || pictures.empty())
    return;
  const std::filesystem::path folder = options_.folder;
  std::filesystem::create_directories(folder);
  write_gif(folder / (options_.prefix + "-episode-" + std::to_string(episodes_ - 1) +
                      "-seed-" + std::to_string(seed_) + ".gif"),
            pictures, std::chrono::milliseconds(options_.milliseconds));
}

} // namespace fiber::rl::detail
