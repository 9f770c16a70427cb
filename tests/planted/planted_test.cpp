// SPDX-License-Identifier: Apache-2.0
// The promise: whatever another user puts at a path that Fiber reads or writes, Fiber
// refuses in words or is not harmed. One list has all these paths, see `places`; each is
// tried with each thing that can be planted.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ranges>
#include <string>
#include <vector>

#include <boost/serialization/vector.hpp>

#include <fcntl.h>
#include <fiber/fiber.hpp>
#include <fiber/rl/checkpoint_file.hpp>
#include <fiber/rl/environments.hpp>
#include <fiber/rl/image.hpp>
#include <fiber/rl/plot.hpp>
#include <fiber/rl/saved_policy.hpp>
#include <fiber/rl/training_log.hpp>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "backends/kubernetes/manifests.hpp"
#include "backends/registry.hpp"
#include "backends/slurm/session_folder.hpp"
#include "libfiber/session/settings.hpp"
#include "tests/planted/another_user.hpp"
#include "tests/planted/temporary_folder.hpp"

namespace fiber::planted {

namespace fs = std::filesystem;

int twice(int i) {
  return 2 * i;
}

namespace {

// -- how Fiber uses each path

void use_journal(const fs::path& path) {
  Pool pool(1);
  EXPECT_EQ(pool.map(twice, std::views::iota(0, 3), {.journal = path.string()}),
            (std::vector{0, 2, 4}));
}

void save_checkpoint(const fs::path& path) {
  Checkpoint(path.string()).save(std::vector{1});
}

void load_checkpoint(const fs::path& path) {
  static_cast<void>(Checkpoint(path.string()).load<std::vector<int>>());
}

void read_settings(const fs::path& path) {
  static_cast<void>(resolve({}, path.parent_path().string()));
}

void read_template(const fs::path& path) {
  static_cast<void>(backends::kubernetes::read_pod_template(path.string()));
}

/// Runs this program once more, for a session with a setting of its own.
void run_session(const std::string& setting, const fs::path& path) {
  auto told = path.parent_path() / "told";
  auto command = fs::read_symlink("/proc/self/exe").string() + " session " + setting +
                 " " + path.string() + " 2>" + told.string();
  if (std::system(command.c_str()) == 0)
    return;
  std::ifstream file(told);
  throw Error(std::string(std::istreambuf_iterator<char>(file), {}));
}

rl::SavedPolicy policy() {
  rl::SavedPolicy saved{
    .environment = "cartpole",
    .spec = {.spaces = rl::make_environment("cartpole")->spaces(), .hidden = {2}}};
  saved.parameters.resize(saved.spec.parameter_count());
  return saved;
}

const rl::Image image{.width = 1, .height = 1, .rgb = {1, 2, 3}};

void write_log(const fs::path& path) {
  rl::TrainingLog log({.folder = path.parent_path(), .columns = {"return"}});
  log.add(1, std::vector{1.0});
}

void use_slurm_directory(const fs::path& path) {
  backends::slurm::SessionFolder(path.string(), "session", std::chrono::seconds(10))
    .remove();
}

/// Enters a job of Slurm whose start file is this one.
void enter_slurm_job(const fs::path& path) {
  UniqueFd before(::dup(STDIN_FILENO)), file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ::dup2(file.get(), STDIN_FILENO);
  auto& kinds = backends::backend_kinds();
  auto slurm = std::ranges::find(kinds, "slurm", &backends::BackendKind::name);
  try {
    slurm->enter("slurm", "");
  } catch (...) {
    ::dup2(before.get(), STDIN_FILENO);
    throw;
  }
}

enum class Use : std::uint8_t {
  obeys,    ///< Reads what is there, and does what it says.
  changes,  ///< Reads what is there, and writes to it.
  replaces, ///< Puts a new file there.
  enters    ///< A folder, in which it makes files.
};

struct Place {
  const char* name;
  const char* file; ///< The name of the file in its folder.
  Use use;
  void (*act)(const fs::path& path);
  const char* content = ""; ///< What is planted there; empty: what `act` writes.
};

const Place places[] = {
  {"settings", ".fiberconfig", Use::obeys, read_settings,
   "[default]\nlog_level = error\n"},
  {"pod_template", "pod.yaml", Use::obeys, read_template, "kind: Pod\nspec: {}\n"},
  {"journal", "run.journal", Use::changes, use_journal},
  {"checkpoint_save", "state", Use::replaces, save_checkpoint},
  {"checkpoint_load", "state", Use::obeys, load_checkpoint},
  {"trace", "trace.json", Use::changes,
   [](const fs::path& path) { run_session("trace", path); }},
  {"report", "report.html", Use::replaces,
   [](const fs::path& path) { run_session("report", path); }},
  {"policy", "policy", Use::replaces,
   [](const fs::path& path) { rl::save_policy(path, policy()); }},
  {"training_state", "state", Use::replaces,
   [](const fs::path& path) {
     rl::save_state(path, {.kind = "fiber-planted"}, std::vector{1});
   }},
  {"png", "image.png", Use::replaces,
   [](const fs::path& path) { rl::write_png(path, image); }},
  {"gif", "film.gif", Use::replaces,
   [](const fs::path& path) {
     rl::write_gif(path, std::span(&image, 1), std::chrono::milliseconds(20));
   }},
  {"plot", "plot.png", Use::replaces,
   [](const fs::path& path) { rl::draw_script(path, "plot x\n"); }},
  {"curve", "curve.csv", Use::replaces, write_log},
  {"slurm_directory", "base", Use::enters, use_slurm_directory},
  {"slurm_start_file", "start.0", Use::obeys, enter_slurm_job, "a start message"},
};

class Planted : public testing::TestWithParam<Place> {
protected:
  static bool is_folder() { return GetParam().use == Use::enters; }

  /// Makes at `path` what Fiber would use there.
  static void make(const fs::path& path) {
    if (is_folder())
      fs::create_directory(path);
    else if (*GetParam().content != '\0')
      std::ofstream(path) << GetParam().content;
    else
      make_by_use(path);
    ::chmod(path.c_str(), is_folder() ? 0755 : 0644);
  }
  static void make_by_use(const fs::path& path) {
    if (GetParam().act == load_checkpoint)
      save_checkpoint(path);
    else
      GetParam().act(path);
  }
  static std::string bytes_of(const fs::path& path) {
    if (is_folder())
      return std::to_string(std::distance(fs::directory_iterator(path), {}));
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// Whether what is at the path is of another user, or a link.
  bool is_still_planted() const {
    struct stat status {};
    return ::lstat(path_.c_str(), &status) == 0 &&
           (status.st_uid != ::geteuid() || S_ISLNK(status.st_mode));
  }
  /// Uses the path. It must be refused by a message that names it or, where the file is
  /// replaced, be gone afterwards.
  void expect_harmless() const {
    try {
      GetParam().act(path_);
      EXPECT_EQ(GetParam().use, Use::replaces) << "it was used";
      EXPECT_FALSE(is_still_planted());
    } catch (const std::exception& error) {
      auto name = GetParam().act == enter_slurm_job ? "start file" : GetParam().file;
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
    }
  }

  const tests::TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path(), path_ = folder_ / GetParam().file;
};

TEST_P(Planted, by_this_user_it_is_used) {
  if (GetParam().act == enter_slurm_job)
    return; // This process would become a job.
  make(path_);
  EXPECT_NO_THROW(GetParam().act(path_));
}

TEST_P(Planted, as_a_file_of_another_user) {
  if (!tests::can_be_another_user())
    GTEST_SKIP() << "only root can give files away";
  make(path_);
  auto before = bytes_of(path_);
  ASSERT_TRUE(tests::give_away(path_));
  expect_harmless();
  if (is_still_planted()) {
    EXPECT_EQ(bytes_of(path_), before) << "it has been written to";
  }
}

TEST_P(Planted, as_a_link_of_another_user_to_what_this_user_has) {
  if (!tests::can_be_another_user())
    GTEST_SKIP() << "only root can give links away";
  if (GetParam().act == enter_slurm_job)
    return; // The shell of the job's script opens it, and what it finds is this user's.
  fs::create_directory(folder_ / "home");
  auto precious = folder_ / "home" / GetParam().file;
  make(precious);
  auto before = bytes_of(precious);
  fs::create_symlink(precious, path_);
  ASSERT_TRUE(tests::give_away(path_));
  expect_harmless();
  EXPECT_EQ(bytes_of(precious), before);
}

TEST_P(Planted, open_to_others_who_can_write) {
  make(path_);
  ::chmod(path_.c_str(), is_folder() ? 0777 : 0666);
  expect_harmless();
}

TEST_P(Planted, as_a_pipe_that_no_one_reads) {
  if (is_folder() || GetParam().act == enter_slurm_job)
    return; // No file is opened.
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  expect_harmless();
}

INSTANTIATE_TEST_SUITE_P(At, Planted, testing::ValuesIn(places),
                         [](const auto& place) { return place.param.name; });

} // namespace
} // namespace fiber::planted

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "session") {
    fiber::Config config{.backend = "inline"};
    (std::string(argv[2]) == "trace" ? config.trace : config.report) = argv[3];
    try {
      auto session = fiber::init(argc, argv, config);
      fiber::Pool(1).map(fiber::planted::twice, std::views::iota(0, 3));
    } catch (const fiber::Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      return 1;
    }
    return 0;
  }
  auto session = fiber::init(argc, argv, {.backend = "inline"});
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
