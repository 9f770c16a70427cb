// SPDX-License-Identifier: Apache-2.0
// A policy as a header in C acts as the policy does, and no compiler warns of it.

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <stdexcept>

#include "fiber/rl/export_policy.hpp"
#include "tests/locale/comma_locale.hpp"
#include "tests/rl/export/policies.hpp"

namespace fiber::rl::exporting_test {
namespace {

/// Reads observations and writes actions.
constexpr const char* c_program = R"(#include "policy.h"
#include <stdio.h>
#ifdef MASKED
#define policy_act(observation, action) policy_act(observation, mask, action)
#endif

int main(void) {
#ifdef MASKED
  unsigned char mask[policy_mask_size];
  FILE* const masks = fopen("masks", "rb");
#endif
  static float observation[policy_observation_size];
  float action[policy_action_size];
  while (fread(observation, sizeof observation, 1, stdin) == 1) {
#ifdef MASKED
    if (fread(mask, sizeof mask, 1, masks) != 1)
      return 1;
#endif
    policy_act(observation, action);
    fwrite(action, sizeof action, 1, stdout);
  }
  return 0;
}
)";

class CHeaderTest : public ExportTest {
protected:
  /// The compiler of this test compiles C, too.
  std::string compile(const std::string& language) const {
    return std::string("cd ") + folder.string() + " && " TEST_COMPILER " -x " + language +
           " -Wall -Wextra -Werror -pedantic -O1 main.c -o acts -lm";
  }
  void write_program() const { std::ofstream(folder / "main.c") << c_program; }

  SavedPolicy small() const {
    SavedPolicy policy{
      .environment = "somewhere",
      .spec = {.spaces = {.observation_shape = {2}, .actions = 2}, .hidden = {}}};
    policy.parameters.resize(policy.spec.parameter_count());
    return policy;
  }
};

TEST_F(CHeaderTest, acts_as_the_policy_does) {
  write_program();
  for (const auto& [name, policy, rows, masks] : samples()) {
    SCOPED_TRACE(name);
    save_c_header(folder / "policy.h", policy);
    ASSERT_NO_FATAL_FAILURE(
      run(compile(masks.empty() ? "c -std=c99" : "c -std=c99 -DMASKED")));
    write_numbers(folder / "rows", rows);
    write_bytes(folder / "masks", masks);
    ASSERT_NO_FATAL_FAILURE(run("cd " + folder.string() + " && ./acts < rows"));
    EXPECT_LE(largest_difference_of_actions(policy, answers_of(policy, rows, masks),
                                            numbers_of_file(folder / "output"), 1e-5),
              1e-5);
  }
}

TEST_F(CHeaderTest, compiles_as_cplusplus) {
  write_program();
  save_c_header(folder / "policy.h", samples().back().policy);
  ASSERT_NO_FATAL_FAILURE(run(compile("c++ -std=c++17")));
}

TEST_F(CHeaderTest, two_headers_live_in_one_program) {
  save_c_header(folder / "left.h", small());
  save_c_header(folder / "right.h", small());
  std::ofstream(folder / "main.c")
    << "#include \"left.h\"\n#include \"right.h\"\n#include \"left.h\"\n"
       "int main(void) {\n  const float seen[2] = {0, 0};\n  float a[1];\n"
       "  left_act(seen, a);\n  right_act(seen, a);\n  return 0;\n}\n";
  ASSERT_NO_FATAL_FAILURE(run(compile("c -std=c99")));
}

TEST_F(CHeaderTest, has_each_parameter_to_its_last_bit_in_each_locale) {
  auto policy = small();
  policy.parameters = {0.1F,
                       -0.0F,
                       std::numeric_limits<float>::denorm_min(),
                       std::numeric_limits<float>::max(),
                       -16777216,
                       1 / 3.0F};
  policy.parameters.resize(policy.spec.parameter_count());
  {
    const fiber::test::CommaLocale locale;
    save_c_header(folder / "policy.h", policy);
  }
  const auto text = content_of_file(folder / "policy.h");
  std::vector<float> found;
  for (const std::string array : {"policy_0_weight[4] = {", "policy_0_bias[2] = {"}) {
    const auto begin = text.find(array) + array.size();
    const auto* at = text.data() + begin;
    const auto* end = text.data() + text.find('}', begin);
    for (at += std::strspn(at, " \n,f"); at < end; at += std::strspn(at, " \n,f")) {
      at = std::from_chars(at, end, found.emplace_back()).ptr;
      ASSERT_EQ(*at, 'f') << text;
    }
  }
  ASSERT_EQ(found.size(), 6U) << text;
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint32_t>(found[i]),
              std::bit_cast<std::uint32_t>(policy.parameters[i]))
      << found[i];
}

TEST_F(CHeaderTest, takes_its_name_from_its_file) {
  const auto function_of = [&](const std::string& file, const std::string& name = {}) {
    save_c_header(folder / file, small(), name);
    const auto text = content_of_file(folder / file);
    const auto end = text.find("_act(");
    return text.substr(text.rfind(' ', end) + 1, end - text.rfind(' ', end) - 1);
  };
  EXPECT_EQ(function_of("hopper.h"), "hopper");
  EXPECT_EQ(function_of("my-hopper.v2.h"), "my_hopper_v2");
  EXPECT_EQ(function_of("2.h"), "policy_2");
  EXPECT_EQ(function_of("hopper.h", "leg"), "leg");
  try {
    save_c_header(folder / "hopper.h", small(), "my-leg");
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "\"my-leg\" is no identifier of C, so no function can have "
                 "the name my-leg_act");
  }
}

TEST_F(CHeaderTest, no_name_of_an_environment_ends_its_comment) {
  auto policy = small();
  policy.environment = "odd*/ #error ?\?/\n#error";
  save_c_header(folder / "policy.h", policy);
  write_program();
  ASSERT_NO_FATAL_FAILURE(run(compile("c -std=c99")));
}

} // namespace
} // namespace fiber::rl::exporting_test
