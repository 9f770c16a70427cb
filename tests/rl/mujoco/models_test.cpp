// SPDX-License-Identifier: Apache-2.0
// Each number of our models that the physics uses is that of Gymnasium's files, in the
// virtual environment -DFIBER_RL_VENV=FOLDER. Names, and what is only seen, may differ.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <mujoco/mjxmacro.h>

#include "rl/mujoco/model.hpp"

namespace fiber::rl::mujoco {
namespace {

namespace fs = std::filesystem;

/// What only pictures, names, other programs and the allocation of memory use.
bool is_physics(std::string_view field) {
  for (const std::string_view other :
       {"nuser_",   "ncam",  "nlight", "nmesh", "nskin",   "ntex",   "nmat",
        "nnumeric", "nkey",  "nnames", "njmax", "nconmax", "nstack", "narena",
        "nbuffer",  "cam_",  "light_", "mesh_", "skin_",   "tex_",   "mat_",
        "numeric_", "text_", "key_",   "name",  "paths"})
    if (field.starts_with(other))
      return false;
  for (const std::string_view other : {"rgba", "matid", "_group", "_user"})
    if (field.ends_with(other))
      return false;
  return true;
}

bool same(double one, double other) {
  return std::abs(one - other) <= 1e-12 * std::max(1.0, std::abs(other));
}

void compare(const mjOption& one, const mjOption& other) {
#define X(type, field) EXPECT_TRUE(same(one.field, other.field)) << #field;
  MJOPTION_SCALARS
#undef X
#define X(field, count)                                                                  \
  for (int i = 0; i < (count); ++i)                                                      \
    EXPECT_TRUE(same(one.field[i], other.field[i])) << #field << ' ' << i;
  MJOPTION_VECTORS
#undef X
}

void compare_sizes(const mjModel& one, const mjModel& other) {
#define X(field)                                                                         \
  if (is_physics(#field)) {                                                              \
    EXPECT_EQ(one.field, other.field) << #field;                                         \
  }
  MJMODEL_INTS
#undef X
}

template <class Number>
void compare_array(const char* field, const Number* one, const Number* other,
                   long count) {
  for (long i = 0; i < count; ++i)
    EXPECT_TRUE(same(static_cast<double>(one[i]), static_cast<double>(other[i])))
      << field << ' ' << i << ": " << +one[i] << " and " << +other[i];
}

void compare_arrays(const mjModel& one, const mjModel& other) {
#undef MJ_M
#define MJ_M(field) one.field
#define X(type, field, rows, columns)                                                    \
  if (is_physics(#field))                                                                \
    compare_array(#field, one.field, other.field,                                        \
                  static_cast<long>(one.rows) * (columns));
  MJMODEL_POINTERS
#undef X
}

fs::path gymnasium_file(const std::string& name) {
  for (const auto& entry : fs::directory_iterator(fs::path(FIBER_RL_VENV) / "lib"))
    if (const auto file =
          entry.path() / "site-packages/gymnasium/envs/mujoco/assets" / name;
        fs::exists(file))
      return file;
  return {};
}

void compare_with(const std::string& file, const Model& ours) {
  SCOPED_TRACE(file);
  const auto path = gymnasium_file(file);
  ASSERT_FALSE(path.empty()) << "no Gymnasium in " << FIBER_RL_VENV;
  const auto theirs = load(path);
  compare(ours->opt, theirs->opt);
  compare_sizes(*ours, *theirs);
  if (testing::Test::HasFailure())
    return;
  compare_arrays(*ours, *theirs);
  EXPECT_TRUE(same(ours->stat.meaninertia, theirs->stat.meaninertia));
  EXPECT_TRUE(same(ours->stat.meanmass, theirs->stat.meanmass));
}

TEST(MujocoModelsTest, each_number_is_gymnasiums) {
  for (const std::string name :
       {"inverted_pendulum", "inverted_double_pendulum", "reacher", "swimmer", "hopper",
        "half_cheetah", "ant", "humanoid"})
    compare_with(name + ".xml", built_in(name));
  compare_with("walker2d_v5.xml", built_in("walker2d"));
}

} // namespace
} // namespace fiber::rl::mujoco
