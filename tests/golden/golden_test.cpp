// SPDX-License-Identifier: Apache-2.0
// The promise: files that a released version has written are read by this one.
//
// tests/golden/VERSION holds them as hexadecimal text. GOLDEN_WRITE=FOLDER makes
// this program write those of the present version instead: a release adds its folder. If
// a format has to change, the test of the older version says which error refuses the
// file.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iterator>
#include <ranges>
#include <sstream>
#include <string>
#include <vector>

#include <boost/serialization/string.hpp>
#include <boost/serialization/vector.hpp>

#include <fiber/fiber.hpp>
#include <fiber/rl/checkpoint_file.hpp>
#include <fiber/rl/environments.hpp>
#include <fiber/rl/saved_policy.hpp>
#include <gtest/gtest.h>

namespace fiber::golden {

namespace fs = std::filesystem;

// Not in an anonymous namespace: a journal identifies the call by these names.
struct Row {
  std::string name;
  std::vector<double> values;
  friend bool operator==(const Row&, const Row&) = default;
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& name& values;
  }
};

int calls = 0; // The backend is inline, so tasks run in this process.

Row row_of(int i) {
  ++calls;
  return {"row " + std::to_string(i), {i / 2.0, i * 1e100}};
}

namespace {

std::vector<Row> rows() {
  std::vector<Row> all;
  for (int i = 0; i < 20; ++i)
    all.push_back({"row " + std::to_string(i), {i / 2.0, i * 1e100}});
  return all;
}

rl::SavedPolicy policy() {
  rl::SavedPolicy saved{
    .environment = "cartpole",
    .spec = {.spaces = rl::make_environment("cartpole")->spaces(), .hidden = {3, 2}}};
  for (std::size_t i = 0; i < saved.spec.parameter_count(); ++i)
    saved.parameters.push_back(static_cast<float>(i) / 8 - 1);
  saved.observations = {{0.5, -1, 2, 0}, {1, 2, 0.25, 4}, 10};
  return saved;
}

const rl::FileLabel state_label{
  .kind = "fiber-golden-state", .version = 1, .settings = {{"environment", "cartpole"}}};

void write_journal(const fs::path& path) {
  Pool pool(1);
  pool.map(row_of, std::views::iota(0, 20), {.journal = path.string()});
}

void write_checkpoint(const fs::path& path) {
  Checkpoint(path.string()).save(rows());
}

struct File {
  const char* name;
  void (*write)(const fs::path& path);
};
constexpr File files[] = {
  {"journal", write_journal},
  {"checkpoint", write_checkpoint},
  {"policy", [](const fs::path& path) { rl::save_policy(path, policy()); }},
  {"state", [](const fs::path& path) { rl::save_state(path, state_label, rows()); }},
};

std::string hex_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << std::hex << std::setfill('0');
  int column = 0;
  for (auto at = std::istreambuf_iterator<char>(stream); at != decltype(at)(); ++at) {
    text << std::setw(2) << static_cast<unsigned>(static_cast<unsigned char>(*at));
    if (++column % 40 == 0)
      text << '\n';
  }
  text << '\n';
  return text.str();
}

void from_hex(const fs::path& text, const fs::path& to) {
  std::ifstream in(text);
  std::ofstream out(to, std::ios::binary);
  for (char high, low; in >> high >> low;)
    out.put(static_cast<char>(std::stoi(std::string{high, low}, nullptr, 16)));
}

class Golden : public testing::TestWithParam<std::string> {
protected:
  Golden() {
    folder_ = (fs::temp_directory_path() / "golden-XXXXXX").string();
    if (::mkdtemp(folder_.data()) == nullptr)
      throw std::runtime_error("mkdtemp");
  }
  ~Golden() override { fs::remove_all(folder_); }

  /// A copy of the file that this version has written.
  std::string file(const std::string& name) const {
    const auto text = fs::path(FIBER_GOLDEN) / GetParam() / (name + ".hex");
    if (!fs::exists(text))
      throw std::runtime_error("there is no " + text.string());
    auto path = fs::path(folder_) / name;
    from_hex(text, path);
    return path.string();
  }

private:
  std::string folder_;
};

TEST_P(Golden, a_journal_gives_its_results_without_running_a_task) {
  Pool pool(1);
  calls = 0;
  EXPECT_EQ(pool.map(row_of, std::views::iota(0, 20), {.journal = file("journal")}),
            rows());
  EXPECT_EQ(calls, 0);
}

TEST_P(Golden, a_checkpoint_gives_its_value) {
  EXPECT_EQ(Checkpoint(file("checkpoint")).load<std::vector<Row>>(), rows());
}

TEST_P(Golden, a_policy_gives_its_network) {
  EXPECT_EQ(rl::load_policy(file("policy")), policy());
}

TEST_P(Golden, the_state_of_a_training_is_whole) {
  EXPECT_EQ(rl::load_state<std::vector<Row>>(file("state"), state_label), rows());
}

void write_files(const fs::path& folder) {
  fs::create_directories(folder);
  for (const auto& file : files) {
    const auto path = folder / file.name;
    file.write(path);
    std::ofstream(path.string() + ".hex") << hex_of(path);
    fs::remove(path);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Golden, testing::Values("0.1.0"), [](const auto& version) {
  auto name = version.param;
  std::ranges::replace(name, '.', '_');
  return name;
});

} // namespace
} // namespace fiber::golden

int main(int argc, char** argv) {
  auto session = fiber::init(argc, argv, {.backend = "inline"});
  if (const char* folder = std::getenv("GOLDEN_WRITE")) {
    fiber::golden::write_files(folder);
    return 0;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
