// SPDX-License-Identifier: Apache-2.0
// What tasks throw, and values that can't be packed: the caller learns of it and the pool
// lives on.
#include <cerrno>
#include <exception>
#include <filesystem>
#include <fstream>
#include <ios>
#include <new>
#include <optional>
#include <stdexcept>
#include <system_error>

#include <fiber/remote_error.hpp>
#include <fiber/this_task.hpp>

#include "tests/e2e/support/fixture.hpp"

namespace fiber::e2e {
namespace {

/// An exception that is a value.
struct Refused : std::runtime_error {
  explicit Refused(int code = 0) : std::runtime_error("refused"), code(code) {}
  int code;
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& code;
  }
};
/// An exception that is none.
struct Opaque : std::logic_error {
  explicit Opaque(const char* what) : std::logic_error(what) {}
};
struct NoException {};

int throw_one(std::size_t i) {
  switch (i) {
  case 0:
    throw std::out_of_range("no 17th");
  case 1:
    throw std::system_error(ENOSPC, std::generic_category(), "write");
  case 2:
    throw std::bad_alloc();
  case 3:
    throw Refused(42);
  case 4:
    throw Opaque("opaque");
  case 5:
    throw 7; // NOLINT: meant.
  case 6:
    throw "a text"; // NOLINT: meant.
  case 7:
    throw NoException(); // NOLINT: meant.
  default:
    return static_cast<int>(i);
  }
}

class ThrownInATask : public SessionTest {
protected:
  void SetUp() override {
    open();
    pool.emplace(2);
    outcomes = pool->map_async(throw_one, indices(20)).outcomes();
    ASSERT_EQ(outcomes.size(), 20u);
  }
  void TearDown() override {
    for (std::size_t i = 8; i < 20; ++i)
      EXPECT_EQ(outcomes[i].value(), static_cast<int>(i));
    EXPECT_EQ(pool->stats().workers_lost, 0u);
    EXPECT_EQ(pool->stats().failed, 8u);
    EXPECT_EQ(pool->stats().done, 12u);
    expect_works(*pool, 2);
    pool.reset();
  }

  RemoteError error(std::size_t i) {
    try {
      outcomes[i].value();
    } catch (const RemoteError& error) {
      return error;
    }
    throw std::logic_error("no RemoteError");
  }

  std::optional<Pool> pool;
  std::vector<Outcome<int>> outcomes;
};

TEST_F(ThrownInATask, tells_what_type_index_attempt_and_job) {
  auto range = error(0);
  EXPECT_EQ(range.type(), "std::out_of_range");
  EXPECT_NE(std::string(range.what()).find("no 17th"), std::string::npos);
  EXPECT_EQ(range.index(), 0u);
  EXPECT_EQ(range.attempt(), 1);
  EXPECT_FALSE(range.job().empty());
  EXPECT_EQ(error(4).index(), 4u);
  EXPECT_NE(error(4).type().find("Opaque"), std::string::npos);
}

TEST_F(ThrownInATask, is_thrown_again_as_the_original) {
  try {
    error(0).rethrow_original();
  } catch (const std::out_of_range& original) {
    EXPECT_STREQ(original.what(), "no 17th");
  }
  try {
    error(1).rethrow_original();
  } catch (const std::system_error& original) {
    EXPECT_EQ(original.code(), std::errc::no_space_on_device);
  }
  EXPECT_THROW(error(2).rethrow_original(), std::bad_alloc);
  try {
    error(3).rethrow_original<Refused>();
  } catch (const Refused& original) {
    EXPECT_EQ(original.code, 42);
  }
  EXPECT_THROW(error(0).rethrow_original(), std::out_of_range);
  EXPECT_THROW(error(1).rethrow_original(), std::system_error);
  EXPECT_THROW(error(3).rethrow_original<Refused>(), Refused);
  EXPECT_THROW(error(4).rethrow_original(), RemoteError);
}

TEST_F(ThrownInATask, may_be_no_std_exception) {
  EXPECT_EQ(error(5).type(), "int");
  EXPECT_NE(std::string(error(5).what()).find('7'), std::string::npos);
  EXPECT_NE(std::string(error(6).what()).find("a text"), std::string::npos);
  EXPECT_NE(error(7).type().find("NoException"), std::string::npos);
  EXPECT_THROW(error(7).rethrow_original(), RemoteError);
}

TEST_F(ThrownInATask, reaches_the_caller_of_map_for_the_lowest_index) {
  Pool another(2);
  try {
    another.map([](std::size_t i) { return throw_one(i == 5    ? 4
                                                     : i == 15 ? 0
                                                               : 100); },
                indices(20));
    FAIL() << "no error";
  } catch (const RemoteError& error) {
    EXPECT_EQ(error.index(), 5u);
  }
  expect_works(another, 2);
}

int throw_standard(int i) {
  switch (i) {
  case 0:
    std::filesystem::copy("/none", "/nowhere");
    break;
  case 1: {
    std::ifstream file("/none");
    file.exceptions(std::ios::failbit);
    break;
  }
  case 2:
    throw std::system_error(ENOENT, std::generic_category(), "open");
  case 3:
    try {
      throw std::out_of_range("no 17th");
    } catch (...) {
      std::throw_with_nested(Refused(42));
    }
  case 4: {
    struct Silent : std::exception {
      const char* what() const noexcept override { return nullptr; }
    };
    throw Silent();
  }
  }
  return i;
}

/// What the caller of a task gets.
template <class E, class Check>
void expect_original(Pool& pool, int which, Check check) {
  try {
    pool.apply(throw_standard, which);
    FAIL() << "no error";
  } catch (const RemoteError& error) {
    try {
      error.rethrow_original();
    } catch (const E& original) {
      check(original);
    }
  }
}

class ThrownByTheLibrary : public SessionTest {};

TEST_F(ThrownByTheLibrary, comes_back_with_all_that_it_holds) {
  open();
  Pool pool(1);
  expect_original<std::filesystem::filesystem_error>(pool, 0, [](auto& error) {
    EXPECT_EQ(error.path1(), "/none");
    EXPECT_EQ(error.path2(), "/nowhere");
    EXPECT_EQ(error.code(), std::errc::no_such_file_or_directory);
    EXPECT_TRUE(std::string(error.what()).ends_with(" [/none] [/nowhere]"));
  });
  expect_original<std::ios_base::failure>(
    pool, 1, [](auto& error) { EXPECT_EQ(error.code(), std::io_errc::stream); });
  expect_original<std::system_error>(pool, 2, [](auto& error) {
    EXPECT_STREQ(error.what(), "open: No such file or directory");
  });
  expect_original<Refused>(pool, 3, [](auto& error) {
    EXPECT_EQ(error.code, 42);
    EXPECT_THROW(std::rethrow_if_nested(error), std::out_of_range);
  });
  expect_original<RemoteError>(pool, 4, [](auto& error) {
    EXPECT_TRUE(std::string(error.what()).ends_with("Silent")) << error.what();
  });
  EXPECT_EQ(pool.stats().workers_lost, 0u);
  expect_works(pool, 1);
}

TEST_F(ThrownByTheLibrary, the_causes_are_in_the_text) {
  open();
  Pool pool(1);
  try {
    pool.apply(throw_standard, 3);
    FAIL() << "no error";
  } catch (const RemoteError& error) {
    EXPECT_TRUE(std::string(error.what())
                  .ends_with("Refused: refused; caused by std::out_of_range: no 17th"))
      << error.what();
  }
}

/// A value that can't be packed or unpacked, as told.
struct Stubborn {
  int how = 0; ///< 1: can't be packed; 2: can't be unpacked.
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    if (Archive::is_saving::value && how == 1)
      throw std::runtime_error("can't be packed");
    archive& how;
    if (Archive::is_loading::value && how == 2)
      throw std::runtime_error("can't be unpacked");
  }
};

class BadValue : public SessionTest {};

TEST_F(BadValue, as_a_result_fails_its_task_only) {
  open();
  Pool pool(2);
  auto outcomes = pool
                    .map_async(
                      [](std::size_t i) {
                        return Stubborn{i == 3 ? 1 : i == 5 ? 2 : 0};
                      },
                      indices(10))
                    .outcomes();
  for (std::size_t i = 0; i < 10; ++i)
    EXPECT_EQ(outcomes[i].ok(), i != 3 && i != 5) << i;
  try {
    outcomes[3].value();
  } catch (const RemoteError& error) {
    EXPECT_NE(std::string(error.what()).find("can't be packed"), std::string::npos);
  }
  EXPECT_THROW(outcomes[3].value(), RemoteError);
  EXPECT_ANY_THROW(outcomes[5].value()); // It left the job well.
  EXPECT_EQ(pool.stats().workers_lost, 0u);
  expect_works(pool, 2);
}

TEST_F(BadValue, as_an_argument_fails_its_call_or_its_task) {
  open();
  Pool pool(2);
  auto how = [](const Stubborn& argument) { return argument.how; };
  EXPECT_ANY_THROW(pool.map(how, std::vector<Stubborn>(5, Stubborn{1})));
  auto outcomes = pool.map_async(how, std::vector<Stubborn>{{0}, {2}, {0}}).outcomes();
  EXPECT_TRUE(outcomes[0].ok());
  EXPECT_TRUE(outcomes[2].ok());
  EXPECT_THROW(outcomes[1].value(), RemoteError);
  EXPECT_EQ(pool.stats().workers_lost, 0u);
  expect_works(pool, 2);
}

} // namespace
} // namespace fiber::e2e
