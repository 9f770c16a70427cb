// SPDX-License-Identifier: Apache-2.0
#include "rl/es_train/files.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>

#include "fiber/detail/classic_locale.hpp"
#include "fiber/rl/checkpoint_file.hpp"
#include "fiber/rl/evolution_evaluation.hpp"

namespace fiber::rl::es_train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view policy_magic = "fiber-es-policy 2";

// The shortest decimal form that reads back as the same number.
template <class Number>
std::string text(Number number) {
  std::array<char, 64> buffer;
  const auto end =
    std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  return {buffer.data(), end};
}

// Takes one line "KEY VALUE" and returns the value, which may be missing.
std::string take_line(std::istream& in, std::string_view key, const fs::path& path) {
  std::string line;
  const bool there = std::getline(in, line) && line.starts_with(key);
  if (there && line.size() == key.size())
    return {};
  if (!there || line[key.size()] != ' ')
    throw std::runtime_error(path.string() + ": expected a line \"" + std::string(key) +
                             " ...\"");
  return line.substr(key.size() + 1);
}

template <class Number>
Number parsed(const std::string& value, const fs::path& path) {
  Number number = {};
  const auto end = value.data() + value.size();
  const auto result = std::from_chars(value.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end)
    throw std::runtime_error(path.string() + ": \"" + value + "\" is not a number");
  return number;
}

template <class Number>
std::string listed(const std::vector<Number>& numbers) {
  std::string list;
  for (auto number : numbers)
    list += " " + text(number);
  return list;
}

/// A line for each pair.
template <class Numbers>
std::string pairs(const Numbers& first, const Numbers& second) {
  std::string lines;
  for (std::size_t i = 0; i < first.size(); ++i)
    lines += "\n" + text(first[i]) + " " + text(second[i]);
  return lines;
}

std::vector<std::string> words(const std::string& line) {
  fiber::detail::Classic<std::istringstream> in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

std::array<std::string, 2> two_words(const std::string& line, const fs::path& path) {
  auto both = words(line);
  if (both.size() != 2)
    throw std::runtime_error(path.string() + ": expected two words, not \"" + line +
                             "\"");
  return {std::move(both[0]), std::move(both[1])};
}

std::vector<std::size_t> sizes(const std::string& line, const fs::path& path) {
  std::vector<std::size_t> numbers;
  for (const auto& word : words(line))
    numbers.push_back(parsed<std::size_t>(word, path));
  return numbers;
}

template <class Number>
std::pair<std::vector<Number>, std::vector<Number>>
take_pairs(std::istream& in, std::size_t count, const fs::path& path) {
  std::pair<std::vector<Number>, std::vector<Number>> numbers;
  for (std::string line; numbers.first.size() < count;) {
    if (!std::getline(in, line))
      throw std::runtime_error(path.string() + " ends too early");
    const auto pair = two_words(line, path);
    numbers.first.push_back(parsed<Number>(pair[0], path));
    numbers.second.push_back(parsed<Number>(pair[1], path));
  }
  return numbers;
}

void take_actions(std::istream& in, Spaces& spaces, const fs::path& path) {
  constexpr std::string_view mask = "masked-";
  auto line = take_line(in, "actions", path);
  spaces.masked = line.starts_with(mask);
  if (spaces.masked)
    line.erase(0, mask.size());
  const auto kind = line.substr(0, line.find(' '));
  const auto rest = line.substr(std::min(line.size(), kind.size() + 1));
  if (kind == "discrete")
    spaces.actions = parsed<int>(rest, path);
  else if (kind == "multi-discrete")
    for (const auto count : sizes(rest, path))
      spaces.action_counts.push_back(static_cast<int>(count));
  else
    std::tie(spaces.action_low, spaces.action_high) =
      take_pairs<float>(in, parsed<std::size_t>(rest, path), path);
}

} // namespace

void save_policy(const fs::path& path, const SavedPolicy& policy) {
  const auto& spaces = policy.policy.spaces;
  std::string content(policy_magic);
  content += "\nenvironment " + policy.environment;
  content += "\nobservations" + listed(spaces.observation_shape);
  content += "\nhidden" + listed(policy.policy.hidden);
  const std::string masked = spaces.masked ? "masked-" : "";
  if (spaces.actions > 0)
    content += "\nactions " + masked + "discrete " + text(spaces.actions);
  else if (spaces.discrete())
    content += "\nactions " + masked + "multi-discrete" + listed(spaces.action_counts);
  else
    content += "\nactions continuous " + text(spaces.action_low.size()) +
               pairs(spaces.action_low, spaces.action_high);
  const auto mean = policy.normaliser.mean();
  content += "\nnormalised " + text(mean.size()) + " " + text(policy.normaliser.clip());
  content += pairs(mean, policy.normaliser.scale());
  content += "\nparameters " + text(policy.parameters.size()) + "\n";
  for (float parameter : policy.parameters)
    content += text(parameter) + "\n";
  write_atomically(path, content);
}

SavedPolicy load_policy(const fs::path& path) {
  fiber::detail::Classic<std::ifstream> in(path);
  std::string line;
  if (!in || !std::getline(in, line) || line != policy_magic)
    throw std::runtime_error(path.string() + " is not a policy of this program");
  SavedPolicy policy;
  policy.environment = take_line(in, "environment", path);
  auto& spaces = policy.policy.spaces;
  spaces.observation_shape = sizes(take_line(in, "observations", path), path);
  policy.policy.hidden = sizes(take_line(in, "hidden", path), path);
  take_actions(in, spaces, path);
  const auto normalised = two_words(take_line(in, "normalised", path), path);
  auto [mean, scale] =
    take_pairs<double>(in, parsed<std::size_t>(normalised[0], path), path);
  policy.normaliser = {std::move(mean), std::move(scale),
                       parsed<double>(normalised[1], path)};
  const auto size = parsed<std::size_t>(take_line(in, "parameters", path), path);
  while (std::getline(in, line))
    policy.parameters.push_back(parsed<float>(line, path));
  if (policy.parameters.size() != size || size != evolved_parameter_count(policy.policy))
    throw std::runtime_error(path.string() +
                             " has another number of parameters than it says");
  return policy;
}

void save_curve(const fs::path& path, const std::vector<CurvePoint>& curve) {
  std::string content =
    "iteration,population_mean,population_best,policy_mean,seconds,episodes\n";
  for (const auto& point : curve)
    content += text(point.iteration) + ',' + text(point.population_mean) + ',' +
               text(point.population_best) + ',' +
               (std::isnan(point.policy_mean) ? "" : text(point.policy_mean)) + ',' +
               text(point.seconds) + ',' + text(point.episodes) + '\n';
  write_atomically(path, content);
}

} // namespace fiber::rl::es_train
