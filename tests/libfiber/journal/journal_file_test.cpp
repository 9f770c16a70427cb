// SPDX-License-Identifier: Apache-2.0
// The promise: appended results are found again, undamaged and by the same call only;
// truncated or damaged records are missing, and nothing else is.

#include "libfiber/journal/journal_file.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include <sys/resource.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/log.hpp"
#include "libfiber/storage/record.hpp"
#include "wire/digest.hpp"

namespace fiber::detail {
namespace {

int twice(int x) {
  return 2 * x;
}
int thrice(int x) {
  return 3 * x;
}

CallName name_of(int (*f)(int)) {
  return CallName::of<int, int, false>(f);
}

Bytes some_bytes(std::size_t n, unsigned seed) {
  Bytes bytes(n);
  std::mt19937 random(seed);
  for (auto& byte : bytes)
    byte = static_cast<std::byte>(random());
  return bytes;
}

Digest digest(std::uint64_t index) {
  return wire::digest_of(std::as_bytes(std::span(&index, 1)));
}

class JournalFileTest : public testing::Test {
protected:
  JournalFileTest() {
    log().set_level(spdlog::level::err); // The damage is intended.
    folder_ = (std::filesystem::temp_directory_path() / "journal-XXXXXX").string();
    if (::mkdtemp(folder_.data()) == nullptr)
      throw std::runtime_error("mkdtemp");
    path_ = folder_ + "/journal";
  }
  ~JournalFileTest() override {
    log().set_level(level_);
    std::filesystem::remove_all(folder_);
  }

  JournalFile open() const { return {path_, name_of(twice)}; }

  /// Appends results of these sizes, many in one call.
  void fill(const std::vector<std::size_t>& sizes) {
    auto file = open();
    std::vector<JournalFile::Addition> all;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      all.push_back({i, digest(i), Payload(result(i, sizes[i]))});
    file.append(all);
  }
  static Bytes result(std::size_t index, std::size_t size) {
    return some_bytes(size, static_cast<unsigned>(index));
  }
  /// Returns which results are there, and checks that they are undamaged.
  std::vector<bool> there(const std::vector<std::size_t>& sizes) const {
    auto file = open();
    std::vector<bool> found;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      auto value = file.find(i, digest(i));
      found.push_back(value.has_value());
      if (value) {
        auto bytes = value->bytes();
        EXPECT_EQ(Bytes(bytes.begin(), bytes.end()), result(i, sizes[i])) << i;
      }
    }
    return found;
  }
  std::string what_of(const CallName& name) const {
    try {
      JournalFile file(path_, name);
    } catch (const Error& error) {
      return error.what();
    }
    return "it was taken";
  }
  Bytes content() const {
    std::ifstream file(path_, std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(file), {});
    auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }
  void put(const Bytes& bytes) const {
    std::ofstream(path_, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  }

  const spdlog::level::level_enum level_ = log().level();
  std::string folder_, path_;
};

TEST_F(JournalFileTest, only_the_owner_can_read_a_journal) {
  JournalFile journal(path_, name_of(twice));
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(path_).permissions(),
            perms::owner_read | perms::owner_write);
}

TEST_F(JournalFileTest, appended_results_are_found_again) {
  std::vector<std::size_t> sizes{0, 1, 4095, 4096, 4097, 3'000'000, 8, 0, 100'000};
  fill(sizes);
  EXPECT_EQ(there(sizes), std::vector<bool>(sizes.size(), true));
  EXPECT_FALSE(open().find(99, digest(99)));
  std::vector<std::size_t> many(5000, 300);
  std::filesystem::remove(path_);
  fill(many);
  EXPECT_EQ(there(many), std::vector<bool>(many.size(), true));
}

TEST_F(JournalFileTest, records_may_come_in_any_order_and_the_first_of_two_counts) {
  {
    auto file = open();
    file.append(
      std::vector<JournalFile::Addition>{{7, digest(7), Payload(result(7, 10))},
                                         {2, digest(2), Payload(result(2, 10))},
                                         {7, digest(7), Payload(result(1, 10))}});
  }
  auto file = open();
  auto bytes = file.find(7, digest(7)).value();
  EXPECT_EQ(Bytes(bytes.bytes().begin(), bytes.bytes().end()), result(7, 10));
  EXPECT_TRUE(file.find(2, digest(2)));
  EXPECT_TRUE(file.find(7, digest(7)));
  EXPECT_FALSE(file.find(3, digest(3)));
}

TEST_F(JournalFileTest, a_truncated_record_is_dropped_and_appending_continues_there) {
  std::vector<std::size_t> sizes{10, 20, 30};
  fill({});
  auto head = content().size();
  std::filesystem::remove(path_);
  fill(sizes);
  auto whole = content();
  auto second = head + 2 * sizeof(RecordHead) + 30;
  for (auto size = second; size < whole.size(); ++size) {
    put({whole.begin(), whole.begin() + static_cast<long>(size)});
    EXPECT_EQ(there(sizes), (std::vector<bool>{true, true, false})) << size;
    EXPECT_EQ(content().size(), second);
    open().append(
      std::vector<JournalFile::Addition>{{2, digest(2), Payload(result(2, 30))}});
    EXPECT_EQ(there(sizes), (std::vector<bool>{true, true, true})) << size;
  }
}

TEST_F(JournalFileTest, a_file_with_a_truncated_head_is_started_anew) {
  fill({});
  auto head = content();
  for (std::size_t size = 0; size < head.size(); ++size) {
    put({head.begin(), head.begin() + static_cast<long>(size)});
    fill({5});
    EXPECT_EQ(there({5}), std::vector<bool>{true}) << size;
  }
}

TEST_F(JournalFileTest, only_damaged_records_are_missing) {
  std::vector<std::size_t> sizes{100, 0, 5000, 300, 1};
  fill({});
  auto head = content().size();
  std::filesystem::remove(path_);
  fill(sizes);
  auto whole = content();
  auto at = head;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    auto size = sizeof(RecordHead) + sizes[i];
    // Checksums cover everything, also `unused`.
    for (std::size_t k = 0; k < size; k += k < sizeof(RecordHead) ? 1 : 97) {
      auto damaged = whole;
      damaged[at + k] ^= std::byte{0x10};
      put(damaged);
      std::vector<bool> expected(sizes.size(), true);
      expected[i] = false;
      EXPECT_EQ(there(sizes), expected) << "byte " << k << " of record " << i;
    }
    at += size;
  }
  // A damaged range with several heads, and one that is larger than the read buffer.
  auto damaged = whole;
  std::fill_n(damaged.begin() + static_cast<long>(head) + 50, 5100, std::byte{0});
  put(damaged);
  EXPECT_EQ(there(sizes), (std::vector<bool>{false, false, false, true, true}));
  Bytes stretch(3'000'000, std::byte{0x46});
  damaged = whole;
  damaged.insert(damaged.begin() + static_cast<long>(head), stretch.begin(),
                 stretch.end());
  put(damaged);
  EXPECT_EQ(there(sizes), std::vector<bool>(sizes.size(), true));
}

TEST_F(JournalFileTest, a_result_that_looks_like_a_record_is_not_read_as_one) {
  fill({50, 60});
  auto inner = content();
  std::filesystem::remove(path_);
  {
    auto file = open();
    file.append(
      std::vector<JournalFile::Addition>{{5, digest(5), Payload(Bytes(inner))}});
  }
  auto outer = content();
  outer[outer.size() - inner.size() - 40] ^= std::byte{1}; // In the record's head.
  put(outer);
  EXPECT_EQ(there({50, 60}), (std::vector<bool>{false, false}));
}

TEST_F(JournalFileTest, random_damage_yields_no_wrong_result) {
  std::vector<std::size_t> sizes(60);
  std::mt19937 random(5);
  for (auto& size : sizes)
    size = random() % 400;
  fill(sizes);
  auto whole = content();
  for (int round = 0; round < 200; ++round) {
    auto damaged = whole;
    for (auto n = random() % 8; n > 0; --n)
      damaged[200 + random() % (damaged.size() - 200)] = static_cast<std::byte>(random());
    if (random() % 2 == 0)
      damaged.resize(400 + random() % (damaged.size() - 400));
    put(damaged);
    try {
      there(sizes);
    } catch (const ConfigError&) { // The damage hit the head.
    }
  }
}

TEST_F(JournalFileTest, a_journal_of_another_call_is_refused_naming_both) {
  fill({1});
  auto what = what_of(name_of(thrice));
  EXPECT_NE(what.find("twice(int)"), what.npos) << what;
  EXPECT_NE(what.find("thrice(int)"), what.npos) << what;
  auto add = [](int a, int b) { return a + b; };
  using Add = decltype(bind(add, 1));
  auto one = CallName::of<int, int, false>(bind(add, 1));
  std::filesystem::remove(path_);
  { JournalFile file(path_, one); }
  EXPECT_EQ(what_of(CallName::of<int, int, false, Add>(bind(add, 1))), "it was taken");
  for (auto& other : {CallName::of<int, int, false, Add>(bind(add, 2)),
                      CallName::of<long, int, false, Add>(bind(add, 1)),
                      CallName::of<int, long, false, Add>(bind(add, 1)),
                      CallName::of<int, int, true, Add>(bind(add, 1))})
    EXPECT_NE(what_of(other).find("is of another call"), std::string::npos);
}

TEST_F(JournalFileTest, a_file_that_is_no_journal_is_left_alone) {
  auto text = std::string("precious, and longer than the head of a journal is ") +
              std::string(1000, '.');
  std::ofstream(path_) << text;
  EXPECT_NE(what_of(name_of(twice)).find("is no journal of Fiber"), std::string::npos);
  std::ifstream file(path_);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text);
  path_ = folder_;
  EXPECT_NE(what_of(name_of(twice)).find("Is a directory"), std::string::npos);
  path_ = "/dev/null";
  EXPECT_NE(what_of(name_of(twice)).find("it is no plain file"), std::string::npos);
  path_ = folder_ + "/none/journal";
  EXPECT_NE(what_of(name_of(twice)).find("No such file"), std::string::npos);
}

TEST_F(JournalFileTest, only_a_partial_head_of_this_call_is_started_anew) {
  fill({});
  const auto head = content();
  // Anything but the beginning of this call's head belongs to someone else.
  for (std::size_t changed : {0U, 15U, 16U, 20U, 140U})
    for (auto size : {changed + 1, head.size() - 1}) {
      Bytes bytes(head.begin(), head.begin() + static_cast<long>(size));
      bytes[changed] ^= std::byte{4};
      put(bytes);
      EXPECT_NE(what_of(name_of(twice)), "it was taken") << changed << " of " << size;
      EXPECT_EQ(content(), bytes);
    }
  put({head.begin(), head.end() - 10});
  EXPECT_NE(what_of(name_of(thrice)), "it was taken");
}

TEST_F(JournalFileTest, a_journal_of_another_format_is_refused) {
  fill({1});
  auto bytes = content();
  bytes[16] = std::byte{9};
  put(bytes);
  EXPECT_NE(what_of(name_of(twice)).find("has format 9, this program knows format 1"),
            std::string::npos);
  EXPECT_EQ(content(), bytes);
}

TEST_F(JournalFileTest, a_journal_with_a_damaged_head_is_refused) {
  fill({1});
  auto whole = content();
  for (std::size_t i : {20U, 130U, 200U}) {
    auto bytes = whole;
    bytes[i] ^= std::byte{4};
    put(bytes);
    EXPECT_NE(what_of(name_of(twice)).find("is damaged"), std::string::npos) << i;
  }
}

TEST_F(JournalFileTest, a_journal_has_one_user_at_a_time) {
  auto first = open();
  auto what = what_of(name_of(twice));
  EXPECT_NE(what.find("is in use by process " + std::to_string(::getpid())), what.npos)
    << what;
}

TEST_F(JournalFileTest, a_journal_of_other_inputs_is_refused) {
  fill({4});
  auto file = open();
  EXPECT_THROW(file.find(0, digest(1)), ConfigError);
}

TEST_F(JournalFileTest, a_write_error_names_its_reason) {
  fill({100});
  auto file = open();
  auto old_action = std::signal(SIGXFSZ, SIG_IGN);
  rlimit unlimited{};
  getrlimit(RLIMIT_FSIZE, &unlimited);
  auto limit = unlimited;
  limit.rlim_cur = std::filesystem::file_size(path_) + 100;
  setrlimit(RLIMIT_FSIZE, &limit);
  std::string what;
  try {
    file.append(
      std::vector<JournalFile::Addition>{{1, digest(1), Payload(result(1, 100))}});
  } catch (const Error& error) {
    what = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &unlimited);
  std::signal(SIGXFSZ, old_action);
  EXPECT_NE(what.find(path_ + " can't be written: File too large"), what.npos) << what;
  file = JournalFile(folder_ + "/other", name_of(twice)); // Unlocks it.
  EXPECT_EQ(there({100, 100}), (std::vector<bool>{true, false}));
}

TEST(Comparing, padding_is_not_compared) {
#if !__has_builtin(__builtin_clear_padding)
  GTEST_SKIP() << "this compiler can't tell what is padding: docs/reference/journal.md";
#endif
  struct Padded {
    char c;
    double d;
    bool operator==(const Padded&) const = default;
  };
  auto packed = [](int fill) {
    alignas(Padded) std::array<std::byte, sizeof(Padded)> place;
    place.fill(static_cast<std::byte>(fill));
    auto* value = reinterpret_cast<Padded*>(place.data());
    value->c = 'x';
    value->d = 1.5;
    Bytes bytes;
    auto writer = Writer::comparing(bytes);
    pack(writer, *value);
    pack(writer, std::vector<Padded>(2, *value));
    return bytes;
  };
  EXPECT_EQ(packed(0), packed(0xff));
}

TEST(CallName, a_call_is_named_by_its_function_not_by_its_address) {
  EXPECT_NE(name_of(twice).function.find("twice"), std::string::npos);
  auto name = CallName::of<int, int, false>(bind(twice));
  std::string bound(reinterpret_cast<const char*>(name.bound.data()), name.bound.size());
  EXPECT_NE(bound.find("twice"), bound.npos);
}

} // namespace
} // namespace fiber::detail
