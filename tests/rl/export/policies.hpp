// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fiber/rl/saved_policy.hpp"

namespace fiber::rl::exporting_test {

/// A policy under test, with observations for it.
struct Sample {
  std::string name;
  SavedPolicy policy;
  std::vector<float> rows = {};
  std::vector<std::uint8_t> masks = {}; ///< Of the rows, if actions are masked.
};

/// Both kinds of networks, all kinds of actions, with a normaliser and without one.
std::vector<Sample> samples();

/// Parameters so large that the units saturate now and then, and actions leave bounds.
void fill_parameters(SavedPolicy& policy, std::uint64_t seed);

/// What a policy gives for observations that are not normalised yet.
struct Answers {
  std::vector<float> outputs = {}; ///< Logits or means; -infinity for what is forbidden.
  std::vector<float> actions = {}; ///< Within the bounds.
};
Answers answers_of(const SavedPolicy& policy, std::vector<float> rows,
                   std::span<const std::uint8_t> masks = {});

/// A mask for each of so many rows, with a possible choice of each component.
std::vector<std::uint8_t> random_masks(const Spaces& spaces, std::size_t rows);

/// The largest difference; infinite if there are not as many numbers.
double largest_difference(std::span<const float> one, std::span<const float> other);

/// The same for actions. Two choices whose logits differ by less than the tolerance are
/// equal.
double largest_difference_of_actions(const SavedPolicy& policy, const Answers& expected,
                                     std::span<const float> actions, double tolerance);

std::string content_of_file(const std::filesystem::path& path);
std::vector<float> numbers_of_file(const std::filesystem::path& path);
void write_numbers(const std::filesystem::path& path, std::span<const float> numbers);
void write_bytes(const std::filesystem::path& path, std::span<const std::uint8_t> bytes);
/// As numbers.
void write_masks(const std::filesystem::path& path, std::span<const std::uint8_t> masks);

/// A folder that is gone after the test.
class ExportTest : public testing::Test {
protected:
  ExportTest();
  ~ExportTest() override;

  /// Runs a command with its output in the file `output`, and expects its success.
  void run(const std::string& command);

  std::filesystem::path folder;
};

} // namespace fiber::rl::exporting_test
