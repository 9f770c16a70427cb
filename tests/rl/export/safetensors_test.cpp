// SPDX-License-Identifier: Apache-2.0
// A file of safetensors holds each parameter under the name that PyTorch gives it.

#include <cstdint>
#include <cstring>
#include <map>

#include <nlohmann/json.hpp>

#include "fiber/rl/export_policy.hpp"
#include "tests/rl/export/policies.hpp"

namespace fiber::rl::exporting_test {
namespace {

struct TensorsOfFile {
  nlohmann::json header;
  std::string numbers;

  template <class Number>
  std::vector<Number> of(const std::string& name) const {
    const auto& entry = header.at(name);
    const auto begin = entry.at("data_offsets").at(0).get<std::size_t>();
    const auto end = entry.at("data_offsets").at(1).get<std::size_t>();
    std::vector<Number> found((end - begin) / sizeof(Number));
    std::memcpy(found.data(), numbers.substr(begin, end - begin).data(), end - begin);
    return found;
  }
};

class SafetensorsTest : public ExportTest {
protected:
  TensorsOfFile saved(const SavedPolicy& policy) const {
    save_safetensors(folder / "policy.safetensors", policy);
    const auto file = content_of_file(folder / "policy.safetensors");
    std::uint64_t size = 0;
    std::memcpy(&size, file.data(), sizeof size);
    EXPECT_EQ(size % 8, 0U);
    return {.header = nlohmann::json::parse(file.substr(8, size)),
            .numbers = file.substr(8 + size)};
  }
};

/// In the order of the parameters.
std::vector<std::string> names_of(const PolicySpec& spec) {
  if (spec.convolution)
    return {"trunk.0.weight",  "trunk.0.bias",  "trunk.2.weight", "trunk.2.bias",
            "trunk.4.weight",  "trunk.4.bias",  "trunk.7.weight", "trunk.7.bias",
            "policy.0.weight", "policy.0.bias", "value.0.weight", "value.0.bias"};
  return {"log_std",         "policy.0.weight", "policy.0.bias",
          "policy.2.weight", "policy.2.bias",   "value.0.weight",
          "value.0.bias",    "value.2.weight",  "value.2.bias"};
}

TEST_F(SafetensorsTest, holds_all_parameters_in_their_order) {
  for (const auto& [name, policy, rows, masks] : samples()) {
    if (name != "continuous_normalised" && name != "convolution")
      continue;
    SCOPED_TRACE(name);
    const auto file = saved(policy);
    std::vector<float> all;
    for (const auto& tensor : names_of(policy.spec)) {
      EXPECT_EQ(file.header.at(tensor).at("dtype"), "F32");
      std::size_t size = 1;
      for (const auto& extent : file.header.at(tensor).at("shape"))
        size *= extent.get<std::size_t>();
      const auto numbers = file.of<float>(tensor);
      EXPECT_EQ(numbers.size(), size) << tensor;
      all.insert(all.end(), numbers.begin(), numbers.end());
    }
    EXPECT_EQ(all, policy.parameters);
  }
}

TEST_F(SafetensorsTest, has_shapes_as_pytorch) {
  for (const auto& [name, policy, rows, masks] : samples()) {
    const auto shape = [file = saved(policy)](const char* tensor) {
      return file.header.at(tensor).at("shape").dump();
    };
    if (name == "convolution") {
      EXPECT_EQ(shape("trunk.0.weight"), "[32,2,8,8]");
      EXPECT_EQ(shape("trunk.2.weight"), "[64,32,4,4]");
      EXPECT_EQ(shape("trunk.4.weight"), "[64,64,3,3]");
      EXPECT_EQ(shape("trunk.7.weight"), "[16,64]"); // A pixel is left.
    } else if (name == "continuous") {
      EXPECT_EQ(shape("log_std"), "[3]");
      EXPECT_EQ(shape("policy.0.weight"), "[24,5]");
      EXPECT_EQ(shape("policy.2.bias"), "[3]");
    }
  }
}

TEST_F(SafetensorsTest, has_the_normaliser_and_what_is_needed_beside_numbers) {
  for (const auto& [name, policy, rows, masks] : samples()) {
    const auto file = saved(policy);
    if (name == "scaled_normalised") {
      const auto mean = policy.observations.mean(), scale = policy.observations.scale();
      EXPECT_EQ(file.header.at("normaliser.mean").at("dtype"), "F64");
      EXPECT_EQ(file.of<double>("normaliser.mean"),
                std::vector<double>(mean.begin(), mean.end()));
      EXPECT_EQ(file.of<double>("normaliser.scale"),
                std::vector<double>(scale.begin(), scale.end()));
      EXPECT_EQ(file.header.at("__metadata__"),
                (std::map<std::string, std::string>{
                  {"environment", "somewhere"},
                  {"network", "5 * 0.300000 -> 8 -> 6 -> 4 logits, tanh"},
                  {"activation", "tanh"},
                  {"observation_scale", "0.3"},
                  {"normaliser.clip", "1.5"}}));
    } else if (name == "continuous") {
      EXPECT_FALSE(file.header.contains("normaliser.mean"));
      EXPECT_EQ(file.header.at("__metadata__").at("activation"), "relu");
      EXPECT_FALSE(file.header.at("__metadata__").contains("masked"));
    } else if (name == "masked_multi") {
      EXPECT_EQ(file.header.at("__metadata__").at("action_counts"), "3 2 4");
      EXPECT_EQ(file.header.at("__metadata__").at("masked"), "true");
    }
  }
}

} // namespace
} // namespace fiber::rl::exporting_test
