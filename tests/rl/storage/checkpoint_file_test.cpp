// SPDX-License-Identifier: Apache-2.0
// What is saved comes back, or an error says why not: a file of something else, of
// another version or of other settings, or one that is not whole. A file that could not
// be written leaves the old one as it was.

#include "fiber/rl/checkpoint_file.hpp"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include <boost/serialization/string.hpp>
#include <boost/serialization/vector.hpp>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace fiber::rl {
namespace {

namespace fs = std::filesystem;

struct State {
  std::vector<float> parameters;
  std::string note;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& parameters& note;
  }
};

class CheckpointFileTest : public testing::Test {
protected:
  CheckpointFileTest() {
    auto pattern = (fs::temp_directory_path() / "fiber-rl-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), "mkdtemp");
    folder_ = pattern;
    file_ = folder_ / "checkpoint";
  }
  ~CheckpointFileTest() override { fs::remove_all(folder_); }

  void save() const { save_state(file_, label_, State{{1, 2.5f}, "a note"}); }
  std::string content() const {
    std::ifstream in(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void replace(const std::string& content) const {
    std::ofstream(file_, std::ios::binary) << content;
  }
  std::string error_of_loading(const FileLabel& label) const {
    try {
      load_state<State>(file_, label);
    } catch (const std::runtime_error& error) {
      const std::string what = error.what();
      EXPECT_TRUE(what.starts_with(file_.string() + ' ')) << what;
      return what.substr(std::min(what.size(), file_.string().size() + 1));
    }
    return "no error";
  }

  fs::path folder_, file_;
  FileLabel label_{.kind = "fiber-test",
                   .version = 3,
                   .settings = {{"environment", "cartpole"}, {"network", "4 -> 2"}}};
};

TEST_F(CheckpointFileTest, what_is_saved_comes_back) {
  save();
  const auto state = load_state<State>(file_, label_);
  ASSERT_TRUE(state);
  EXPECT_EQ(state->parameters, (std::vector<float>{1, 2.5f}));
  EXPECT_EQ(state->note, "a note");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "a draft is left";
  EXPECT_EQ(fs::status(file_).permissions(),
            fs::perms::owner_read | fs::perms::owner_write)
    << "others can read it";
}

TEST_F(CheckpointFileTest, a_file_that_was_made_to_do_harm_is_refused) {
  auto content = detail::content_of(State{{1, 2.5f}, "a note"});
  const auto two = std::string("\2\0\0\0\0\0\0\0", 8);
  const auto at = content.find(two);
  ASSERT_NE(at, std::string::npos);
  for (const char* count : {"\0\0\0\0\0\1\0\0", "\xff\xff\xff\xff\xff\xff\xff\x3f"}) {
    auto forged = content;
    forged.replace(at, two.size(), count, two.size()); // 2^40 numbers, then 2^62.
    detail::save_labelled(file_, label_, forged);
    EXPECT_NE(error_of_loading(label_).find("was written by another version"),
              std::string::npos);
  }
}

TEST_F(CheckpointFileTest, a_file_of_another_kind_of_machine_is_refused_in_words) {
  auto content = detail::content_of(State{{1}, "x"});
  for (const std::size_t at : {std::size_t{9}, std::size_t{33}}) { // Signature, formats.
    auto other = content;
    other[at] = static_cast<char>(other[at] ^ 1);
    detail::save_labelled(file_, label_, other);
    EXPECT_NE(error_of_loading(label_).find("other formats of numbers"),
              std::string::npos);
  }
  detail::save_labelled(file_, label_, "");
  EXPECT_NE(error_of_loading(label_).find("other formats of numbers"), std::string::npos);
}

TEST_F(CheckpointFileTest, a_file_that_is_not_there_is_no_error) {
  EXPECT_FALSE(load_state<State>(file_, label_));
}

TEST_F(CheckpointFileTest, its_first_lines_say_what_it_is) {
  save();
  EXPECT_TRUE(content().starts_with(
    "fiber-test 3\nenvironment: cartpole\nnetwork: 4 -> 2\ncontent: "))
    << content();
}

TEST_F(CheckpointFileTest, an_error_names_all_settings_that_differ) {
  save();
  auto label = label_;
  label.settings["environment"] = "pendulum";
  label.settings["gamma"] = "0.99";
  EXPECT_EQ(error_of_loading(label), "was saved with other settings:\n"
                                     "  environment: saved with cartpole, now pendulum\n"
                                     "  gamma: none was saved, now 0.99");
}

TEST_F(CheckpointFileTest, settings_that_nobody_asks_for_may_be_anything) {
  save();
  EXPECT_TRUE(load_state<State>(file_, {.kind = "fiber-test", .version = 3}));
}

TEST_F(CheckpointFileTest, an_error_names_both_versions) {
  save();
  auto label = label_;
  label.version = 4;
  EXPECT_EQ(error_of_loading(label),
            "has version 3 of fiber-test; this program reads version 4");
}

TEST_F(CheckpointFileTest, a_file_of_another_kind_is_refused) {
  save();
  EXPECT_EQ(error_of_loading({.kind = "fiber-other"}), "is not a fiber-other file");
  replace("hello\n");
  EXPECT_EQ(error_of_loading(label_), "is not a fiber-test file");
}

TEST_F(CheckpointFileTest, a_truncated_file_is_called_so_wherever_it_was_cut) {
  save();
  const auto whole = content();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    replace(whole.substr(0, size));
    const auto error = error_of_loading(label_);
    EXPECT_TRUE(error.starts_with("is truncated") || error.starts_with("is damaged"))
      << size << " bytes: " << error;
  }
  replace(whole.substr(0, whole.size() - 1));
  EXPECT_TRUE(error_of_loading(label_).starts_with("is truncated"));
}

TEST_F(CheckpointFileTest, a_changed_byte_is_found_wherever_it_is) {
  save();
  const auto whole = content();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    auto changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 4);
    replace(changed);
    EXPECT_NE(error_of_loading(label_), "no error") << "byte " << i;
  }
}

TEST_F(CheckpointFileTest, a_file_that_cannot_be_written_leaves_the_old_one) {
  save();
  const auto old = content();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit little{.rlim_cur = 10, .rlim_max = before.rlim_max};
  auto* handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
  EXPECT_THROW(save(), std::system_error);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(content(), old);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "a draft is left";
}

TEST_F(CheckpointFileTest, a_label_that_does_not_fit_is_refused) {
  label_.settings["note"] = "two\nlines";
  EXPECT_THROW(save(), std::invalid_argument);
  label_.settings.clear();
  label_.kind = "two words";
  EXPECT_THROW(save(), std::invalid_argument);
  EXPECT_FALSE(fs::exists(file_));
}

} // namespace
} // namespace fiber::rl
