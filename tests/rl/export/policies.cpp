// SPDX-License-Identifier: Apache-2.0
#include "tests/rl/export/policies.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <system_error>

#include "fiber/rl/distributions.hpp"
#include "tests/rl/policy/golden.hpp"

namespace fiber::rl::exporting_test {
namespace {

namespace fs = std::filesystem;

constexpr float infinite = std::numeric_limits<float>::infinity();

const Spaces discrete{.observation_shape = {5}, .actions = 4};
const Spaces continuous{.observation_shape = {5},
                        .action_low = {-1, -0.25F, -infinite},
                        .action_high = {1, 0.5F, 0.125F}};
const Spaces masked{.observation_shape = {5}, .actions = 4, .masked = true};
const Spaces multi{.observation_shape = {5}, .action_counts = {3, 1, 4}};
const Spaces masked_multi{
  .observation_shape = {5}, .action_counts = {3, 2, 4}, .masked = true};
const Spaces images{.observation_shape = {2, 40, 36}, .actions = 3};

/// Rows whose numbers are far from 0, if they are to be normalised: a float has few
/// digits left there for what differs between rows.
Sample sample_of(const std::string& name, PolicySpec spec, bool normalised,
                 std::size_t rows) {
  Sample sample{.name = name,
                .policy = {.environment = "somewhere", .spec = std::move(spec)}};
  fill_parameters(sample.policy, 7);
  const auto size = sample.policy.spec.spaces.observation_size();
  sample.rows = golden_numbers(rows * size, 3, 2);
  sample.masks = random_masks(sample.policy.spec.spaces, rows);
  if (!normalised)
    return sample;
  for (std::size_t i = 0; i < sample.rows.size(); ++i)
    sample.rows[i] = 100.3F + 0.01F * static_cast<float>(i % size) + sample.rows[i] / 64;
  RunningMoments moments(size);
  moments.add(sample.rows);
  sample.policy.observations = FrozenNormaliser(moments, 1.5, 1e-8);
  return sample;
}

} // namespace

std::vector<Sample> samples() {
  std::vector<Sample> all;
  for (const bool normalised : {false, true}) {
    const std::string ending = normalised ? "_normalised" : "";
    const auto add = [&](const std::string& name, PolicySpec spec, std::size_t rows) {
      all.push_back(sample_of(name + ending, std::move(spec), normalised, rows));
    };
    add("discrete", {.spaces = discrete}, 1000);
    add("continuous",
        {.spaces = continuous, .hidden = {24}, .activation = Activation::relu}, 1000);
    add("masked", {.spaces = masked}, 1000);
    add("multi", {.spaces = multi, .hidden = {16}}, 1000);
    add("masked_multi", {.spaces = masked_multi, .hidden = {16}}, 1000);
    add("linear", {.spaces = continuous, .hidden = {}}, 1000);
    add("scaled", {.spaces = discrete, .hidden = {8, 6}, .observation_scale = 0.3F},
        1000);
    add("flattened", {.spaces = images, .hidden = {8}}, 20);
    add("convolution",
        {.spaces = images,
         .hidden = {16},
         .activation = Activation::relu,
         .convolution = true,
         .observation_scale = 1 / 255.0F},
        20);
    add("tanh_of_convolution",
        {.spaces = {.observation_shape = {1, 36, 37},
                    .action_low = {-0.5F},
                    .action_high = {0.5F}},
         .hidden = {},
         .convolution = true},
        20);
  }
  PolicySpec single{
    .spaces = {.observation_shape = {}, .action_low = {-1}, .action_high = {1}}};
  all.push_back(sample_of("single_number", single, false, 100));
  return all;
}

void fill_parameters(SavedPolicy& policy, std::uint64_t seed) {
  policy.parameters = initial_parameters(policy.spec, seed);
  const auto noise = golden_numbers(policy.parameters.size(), seed, 0.1);
  for (std::size_t i = 0; i < noise.size(); ++i)
    policy.parameters[i] += noise[i];
}

std::vector<std::uint8_t> random_masks(const Spaces& spaces, std::size_t rows) {
  std::vector<std::uint8_t> masks;
  Random random(11);
  for (std::size_t row = 0; row < rows && spaces.masked; ++row)
    for (const int count : spaces.choices()) {
      const auto size = static_cast<std::uint64_t>(count);
      const auto possible = random.below(size);
      for (std::uint64_t i = 0; i < size; ++i)
        masks.push_back(i == possible || random.below(3) == 0 ? 1 : 0);
    }
  return masks;
}

Answers answers_of(const SavedPolicy& policy, std::vector<float> rows,
                   std::span<const std::uint8_t> masks) {
  policy.observations.apply(rows);
  Policy runner(policy.spec, policy.parameters);
  const auto outputs = runner.evaluate_policy(rows, {.masks = masks});
  Answers answers{.outputs = {outputs.begin(), outputs.end()}};
  const auto best = runner.best(rows, {.masks = masks});
  answers.actions.assign(best.begin(), best.end());
  limit_actions(policy.spec.spaces, answers.actions);
  return answers;
}

double largest_difference(std::span<const float> one, std::span<const float> other) {
  if (one.size() != other.size())
    return infinite;
  double largest = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (one[i] == other[i])
      continue; // Both may be infinite.
    const auto difference = std::abs(double{one[i]} - double{other[i]});
    largest = difference <= largest ? largest : difference; // Keeps a NaN.
  }
  return largest;
}

double largest_difference_of_actions(const SavedPolicy& policy, const Answers& expected,
                                     std::span<const float> actions, double tolerance) {
  if (!policy.spec.spaces.discrete() || actions.size() != expected.actions.size())
    return largest_difference(expected.actions, actions);
  const auto counts = policy.spec.spaces.choices();
  double largest = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const auto width = static_cast<std::size_t>(counts[i % counts.size()]);
    const auto logits = std::span(expected.outputs).subspan(begin, width);
    const auto chosen = static_cast<std::size_t>(actions[i]);
    if (chosen >= width)
      return infinite;
    if (std::ranges::max(logits) - logits[chosen] > tolerance)
      largest = std::max(largest, std::abs(double{actions[i]} - expected.actions[i]));
    begin += width;
  }
  return largest;
}

std::string content_of_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<float> numbers_of_file(const fs::path& path) {
  const auto content = content_of_file(path);
  std::vector<float> numbers(content.size() / sizeof(float));
  std::memcpy(numbers.data(), content.data(), numbers.size() * sizeof(float));
  return numbers;
}

void write_numbers(const fs::path& path, std::span<const float> numbers) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(numbers.data()),
             static_cast<std::streamsize>(numbers.size_bytes()));
}

void write_bytes(const fs::path& path, std::span<const std::uint8_t> bytes) {
  std::ofstream(path, std::ios::binary)
    .write(reinterpret_cast<const char*>(bytes.data()),
           static_cast<std::streamsize>(bytes.size()));
}

void write_masks(const fs::path& path, std::span<const std::uint8_t> masks) {
  write_numbers(path, std::vector<float>(masks.begin(), masks.end()));
}

ExportTest::ExportTest() {
  auto pattern = (fs::temp_directory_path() / "fiber-export-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr)
    throw std::system_error(errno, std::generic_category(), "mkdtemp");
  folder = pattern;
}

ExportTest::~ExportTest() {
  fs::remove_all(folder);
}

void ExportTest::run(const std::string& command) {
  const auto output = folder / "output";
  const auto code = std::system((command + " > " + output.string() + " 2>&1").c_str());
  ASSERT_EQ(code, 0) << command << '\n' << content_of_file(output);
}

} // namespace fiber::rl::exporting_test
