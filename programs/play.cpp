// SPDX-License-Identifier: Apache-2.0
// play: a saved policy plays, in the terminal as text or into a GIF or a strip of PNG; or
// it is written for other programs.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <CLI/CLI.hpp>

#include "fiber/rl/detail/parse_options.hpp"
#include "fiber/rl/environments.hpp"
#include "fiber/rl/evaluate.hpp"
#include "fiber/rl/export_policy.hpp"
#include "fiber/rl/image.hpp"
#include "fiber/rl/saved_policy.hpp"

namespace {

namespace fs = std::filesystem;
using fiber::rl::Image;

struct Settings {
  fs::path policy = "out/policy", gif, png, exported;
  std::size_t episodes = 1, step_limit = 2000, strip = 8;
  std::uint64_t seed = 0;
  int milliseconds = 20;
};

int grey(const Image& image, int x, int y) {
  auto at = static_cast<std::size_t>(3 * (y * image.width + x));
  return (image.rgb[at] + image.rgb[at + 1] + image.rgb[at + 2]) / 3;
}

/// A picture as characters: the more a spot differs from the background, which is what
/// the first corner shows, the denser its character.
std::string text_of(const Image& image, int columns) {
  const std::string shades = " .:-=+*#%@";
  auto lines = std::max(1, columns * image.height / image.width / 2);
  auto background = grey(image, 0, 0);
  std::string text;
  for (int line = 0; line < lines; ++line) {
    for (int column = 0; column < columns; ++column) {
      int apart = 0;
      auto end_y = std::max((line + 1) * image.height / lines, 1);
      auto end_x = std::max((column + 1) * image.width / columns, 1);
      for (int y = std::min(line * image.height / lines, end_y - 1); y < end_y; ++y)
        for (int x = std::min(column * image.width / columns, end_x - 1); x < end_x; ++x)
          apart = std::max(apart, std::abs(grey(image, x, y) - background));
      text += shades[static_cast<std::size_t>(apart) * (shades.size() - 1) / 255];
    }
    text += '\n';
  }
  return text;
}

/// Up to `count` of the images, side by side.
Image strip_of(const std::vector<Image>& images, std::size_t count) {
  count = std::min(std::max<std::size_t>(count, 1), images.size());
  Image strip;
  strip.height = images[0].height;
  strip.width = images[0].width * static_cast<int>(count);
  for (int y = 0; y < strip.height; ++y)
    for (std::size_t i = 0; i < count; ++i) {
      auto& image = images[i * (images.size() - 1) / std::max<std::size_t>(1, count - 1)];
      auto row = static_cast<std::ptrdiff_t>(3) * y * image.width;
      strip.rgb.insert(strip.rgb.end(), image.rgb.begin() + row,
                       image.rgb.begin() + row + 3 * image.width);
    }
  return strip;
}

/// Plays an episode and returns its return. If it is `seen`, `see` is called with each
/// picture.
template <class See>
double play(fiber::rl::AnyEnvironment& environment, fiber::rl::ActingPolicy& policy,
            std::uint64_t seed, std::size_t step_limit, bool seen, See see) {
  std::vector<float> observation(environment.spaces().observation_size());
  std::vector<std::uint8_t> mask(environment.spaces().mask_size());
  environment.reset(seed);
  policy.begin_episode();
  double total = 0;
  for (std::size_t step = 0; step < step_limit; ++step) {
    if (seen)
      if (auto image = environment.render())
        see(*image);
    environment.observe(observation);
    environment.mask(mask);
    auto got = environment.step(policy.act(observation, mask));
    total += got.reward;
    if (got.terminated || got.truncated)
      break;
  }
  return total;
}

/// Says in one line if the policy was trained with another physics engine.
void compare_physics(const fs::path& policy, const std::string& environment) {
  const auto trained = fiber::rl::physics_of_policy(policy);
  const auto here = fiber::rl::physics_engine(environment);
  if (!trained.empty() && trained != here)
    std::cerr << "play: warning: " << policy.string() << " was trained with " << trained
              << ", and this program has " << (here.empty() ? "another engine" : here)
              << ": returns may differ\n";
}

int run(const Settings& settings) {
  auto saved = fiber::rl::load_policy(settings.policy);
  if (!settings.exported.empty()) {
    fiber::rl::export_policy(settings.exported, saved);
    std::cout << settings.policy.string() << " exported to " << settings.exported.string()
              << '\n';
    return 0;
  }
  compare_physics(settings.policy, saved.environment);
  auto environment = fiber::rl::make_environment(saved.environment);
  if (environment->spaces() != saved.spec.spaces)
    throw std::runtime_error(settings.policy.string() + " is for another form of " +
                             saved.environment);
  fiber::rl::ActingPolicy policy(saved);
  auto to_file = !settings.gif.empty() || !settings.png.empty();
  auto terminal = ::isatty(STDOUT_FILENO) == 1;
  std::vector<Image> images;
  auto show = [&](const Image& image) {
    if (to_file)
      images.push_back(image);
    if (to_file || !terminal)
      return;
    std::cout << "\x1b[H\x1b[2J" << text_of(image, 78) << std::flush;
    std::this_thread::sleep_for(std::chrono::milliseconds(settings.milliseconds));
  };
  for (std::size_t episode = 0; episode < settings.episodes; ++episode) {
    auto total =
      play(*environment, policy, fiber::rl::evaluation_seed(settings.seed, episode),
           settings.step_limit, to_file || terminal, show);
    std::cout << saved.environment << ", episode " << episode + 1 << ": return " << total
              << std::endl;
  }
  if (to_file && images.empty())
    throw std::runtime_error(saved.environment + " has no pictures");
  if (!settings.gif.empty())
    fiber::rl::write_gif(settings.gif, images,
                         std::chrono::milliseconds(settings.milliseconds));
  if (!settings.png.empty())
    fiber::rl::write_png(settings.png, strip_of(images, settings.strip));
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app("Plays a saved policy, in the terminal or into a file, or exports it");
  auto add = [&](const char* name, auto& value, const char* what) {
    app.add_option(name, value, what)->capture_default_str();
  };
  add("policy", settings.policy, "As ppo, es_train, deep_ga and pbt save it");
  add("--episodes", settings.episodes, "How many");
  add("--seed", settings.seed, "Of the episodes");
  add("--steps", settings.step_limit, "Ends an episode");
  add("--gif", settings.gif, "Write an animated GIF");
  add("--png", settings.png, "Write some pictures side by side");
  add("--strip", settings.strip, "How many pictures side by side");
  add("--milliseconds", settings.milliseconds, "That a picture is shown");
  app
    .add_option("--export", settings.exported,
                "Play nothing: write the policy to FILE.onnx, FILE.safetensors or FILE.h")
    ->excludes("--gif", "--png");
  if (const auto ended = fiber::rl::detail::parse_options(app, argc, argv))
    return *ended;
  try {
    return run(settings);
  } catch (const std::exception& error) {
    std::cerr << "play: " << error.what() << '\n';
    return 1;
  }
}
