// SPDX-License-Identifier: Apache-2.0
// The promise: a result is in the file before the program sees it; the file is closed
// before the program sees the last one; and a failing disk fails the call but loses no
// result that has arrived.

#include "libfiber/journal/journalled_results.hpp"

#include <atomic>
#include <csignal>
#include <filesystem>

#include <sys/resource.h>

#include <gtest/gtest.h>

#include "base/log.hpp"
#include "fiber/error.hpp"
#include "wire/digest.hpp"

namespace fiber::detail {
namespace {

int doubled(int x) {
  return 2 * x;
}

Digest digest_at(std::size_t index) {
  return wire::digest_of(std::as_bytes(std::span(&index, 1)));
}

actors::Completion completion(std::size_t index, std::size_t size = 8) {
  return {index, {Payload(Bytes(size, std::byte{7})), nullptr}};
}
template <class E>
actors::Completion failure(std::size_t index) {
  return {index, {{}, std::make_exception_ptr(E("a failure"))}};
}

class JournalledResultsTest : public testing::Test {
protected:
  JournalledResultsTest() {
    log().set_level(spdlog::level::off);
    folder_ = (std::filesystem::temp_directory_path() / "journal-XXXXXX").string();
    if (::mkdtemp(folder_.data()) == nullptr)
      throw std::runtime_error("mkdtemp");
  }
  ~JournalledResultsTest() override {
    thread_->end();
    log().set_level(level_);
    std::filesystem::remove_all(folder_);
  }

  std::string path() const { return folder_ + "/journal"; }
  JournalFile file(const std::string& of) const {
    return {of, CallName::of<int, int, false>(&doubled)};
  }
  /// Returns the results of a call that has submitted `tasks` tasks.
  std::shared_ptr<JournalledResults> begin(std::size_t tasks) {
    auto results = std::make_shared<JournalledResults>(
      file(path()), thread_, Keep::all, nullptr, [this] { ++cancels_; }, nullptr);
    std::vector<Digest> digests;
    for (std::size_t i = 0; i < tasks; ++i)
      digests.push_back(digest_at(i));
    results->expect(0, digests);
    results->add_submitted(tasks);
    return results;
  }
  /// Returns whether the file has the result, although it is in use.
  bool is_written(std::size_t index) const {
    auto copy = folder_ + "/copy";
    std::filesystem::copy_file(path(), copy,
                               std::filesystem::copy_options::overwrite_existing);
    return file(copy).find(index, digest_at(index)).has_value();
  }

  const spdlog::level::level_enum level_ = log().level();
  std::string folder_;
  std::shared_ptr<WorkThread> thread_ = std::make_shared<WorkThread>();
  std::atomic<int> cancels_{0};
};

TEST_F(JournalledResultsTest, results_are_written_before_they_are_seen) {
  constexpr std::size_t n = 200;
  auto results = begin(n);
  for (std::size_t i = 0; i < n; i += 2) {
    results->deliver({completion(i), completion(i + 1)});
    results->wait_index(i, Results::forever);
    EXPECT_TRUE(is_written(i)) << i;
  }
  EXPECT_TRUE(results->wait_done(n, Results::forever));
}

TEST_F(JournalledResultsTest, the_file_is_closed_before_the_last_result_is_seen) {
  for (std::size_t round = 1; round <= 50; ++round) {
    std::filesystem::remove(path());
    auto results = begin(2);
    results->fed();
    results->deliver({completion(0)});
    results->deliver({failure<Error>(1)});
    EXPECT_TRUE(results->wait_done(2, Results::forever));
    auto again = file(path());
    EXPECT_TRUE(again.find(0, digest_at(0)));
    EXPECT_FALSE(again.find(1, digest_at(1)));
  }
}

TEST_F(JournalledResultsTest,
       the_file_is_closed_when_submission_ends_after_the_last_result) {
  auto results = begin(1);
  results->deliver({completion(0)});
  results->wait_done(1, Results::forever);
  results->fed();
  EXPECT_TRUE(file(path()).find(0, digest_at(0)));
}

TEST_F(JournalledResultsTest, a_cancelled_call_closes_its_file_at_once) {
  auto results = begin(1);
  results->cancel();
  EXPECT_EQ(cancels_, 1);
  EXPECT_FALSE(file(path()).find(0, digest_at(0)));
  results->deliver({failure<Cancelled>(0)});
  results->wait_done(1, Results::forever);
  EXPECT_THROW(std::rethrow_exception(results->at(0).error), Cancelled);
}

TEST_F(JournalledResultsTest, results_outlive_the_session_that_writes_them) {
  auto results = begin(3);
  results->deliver({completion(0)});
  thread_->end();
  results->deliver({completion(1)});
  EXPECT_EQ(results->done(), 2U);
  results->fail_missing(std::make_exception_ptr(Closed("gone")));
  EXPECT_EQ(results->done(), 3U);
  EXPECT_THROW(std::rethrow_exception(results->at(2).error), Closed);
  auto again = file(path());
  EXPECT_TRUE(again.find(0, digest_at(0)) && again.find(1, digest_at(1)));
}

TEST_F(JournalledResultsTest, results_that_came_before_the_end_of_the_pool_count) {
  constexpr std::size_t n = 500;
  auto results = begin(n);
  for (std::size_t i = 0; i + 1 < n; ++i)
    results->deliver({completion(i)});
  results->fail_missing(std::make_exception_ptr(Closed("gone")));
  EXPECT_TRUE(results->wait_done(n, Results::forever));
  for (std::size_t i = 0; i + 1 < n; ++i)
    EXPECT_FALSE(results->at(i).error) << i;
  EXPECT_TRUE(results->at(n - 1).error);
}

/// Limits the size of this process's files to slightly more than that of `path`.
class FullDisk {
public:
  explicit FullDisk(const std::string& path) : action_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &limit_);
    auto full = limit_;
    full.rlim_cur = std::filesystem::file_size(path) + 100;
    setrlimit(RLIMIT_FSIZE, &full);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, action_);
  }

private:
  rlimit limit_{};
  void (*action_)(int);
};

TEST_F(JournalledResultsTest, results_that_came_are_delivered_though_the_disk_is_full) {
  auto results = begin(4);
  {
    FullDisk disk(path());
    results->deliver({completion(0)});
    results->deliver({completion(1, 1000)});
    results->wait_index(1, Results::forever);
    results->deliver({failure<Cancelled>(2), failure<Error>(3)});
    results->wait_done(4, Results::forever);
  }
  EXPECT_EQ(cancels_, 1);
  EXPECT_FALSE(results->at(0).error);
  EXPECT_FALSE(results->at(1).error);
  EXPECT_EQ(results->at(1).value.size(), 1000U);
  for (auto index : {2, 3})
    EXPECT_THROW(
      std::rethrow_exception(results->at(static_cast<std::size_t>(index)).error), Error);
  auto why = [](auto call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  auto text = path() + " can't be written: File too large";
  EXPECT_NE(why([&] { std::rethrow_exception(results->at(2).error); }).find(text),
            std::string::npos);
  EXPECT_EQ(why([&] { std::rethrow_exception(results->at(3).error); }), "a failure");
  EXPECT_NE(why([&] { results->find(4, digest_at(4)); }).find(text), std::string::npos);
  auto again = file(path());
  EXPECT_TRUE(again.find(0, digest_at(0)));
  EXPECT_FALSE(again.find(1, digest_at(1)));
}

} // namespace
} // namespace fiber::detail
