// SPDX-License-Identifier: Apache-2.0
// A callable may live in the executable, at a fixed place or not, and in any library that
// the job has loaded too; where it has not, the error names the library.
#include <algorithm>
#include <functional>
#include <stdexcept>

#include <dlfcn.h>
#include <unistd.h>

#include <fiber/error.hpp>

#include "tests/e2e/pool/user_library.hpp"
#include "tests/e2e/support/modes.hpp"

namespace fiber::e2e {
namespace {

/// The other copy of the library, opened in this process when it is asked for.
class OpenedLibrary {
public:
  explicit OpenedLibrary(std::string path)
    : path_(std::move(path)), handle_(::dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
  ~OpenedLibrary() {
    if (handle_ != nullptr)
      ::dlclose(handle_);
  }
  OpenedLibrary(const OpenedLibrary&) = delete;
  OpenedLibrary& operator=(const OpenedLibrary&) = delete;

  const std::string& path() const { return path_; }
  LibraryCode code() const {
    auto* entry = handle_ == nullptr ? nullptr : ::dlsym(handle_, "user_library");
    if (entry == nullptr)
      throw std::runtime_error(::dlerror());
    return reinterpret_cast<decltype(&user_library)>(entry)();
  }

private:
  std::string path_;
  void* handle_;
};

std::vector<std::size_t> each(const std::function<std::size_t(std::size_t)>& f) {
  auto all = indices(100);
  std::transform(all.begin(), all.end(), all.begin(), f);
  return all;
}

/// What went wrong with the first task.
std::string problem(const std::function<void()>& run) {
  try {
    run();
  } catch (const RemoteError& error) {
    return error.what();
  }
  return "nothing";
}

using CallablePlace = EveryMode;

TEST_P(CallablePlace, is_the_executable) {
  Pool pool(2);
  EXPECT_EQ(pool.map(f, indices(100)), undisturbed(100));
  EXPECT_EQ(pool.map([](std::size_t i) { return i + 2; }, indices(100)),
            each([](std::size_t i) { return i + 2; }));
  EXPECT_NE(pool.apply([] { return ::getpid(); }), ::getpid());
}

TEST_P(CallablePlace, is_a_linked_library) {
  Pool pool(2);
  EXPECT_EQ(pool.map(triple, indices(100)), each(triple));
  EXPECT_EQ(pool.map(user_library().quadruple, indices(100)),
            each([](std::size_t i) { return 4 * i; }));
  EXPECT_EQ(user_library().map_a_lambda(pool, indices(100)),
            each([](std::size_t i) { return i + 5; }));
}

TEST_P(CallablePlace, that_no_job_has_loaded_is_named) {
  Pool pool(2);
  EXPECT_EQ(pool.map(f, indices(100)), undisturbed(100));
  OpenedLibrary library(OPENED_LIBRARY);
  auto function = library.code().quadruple;
  ASSERT_EQ(function(3), 12u);
  for (auto& run :
       {std::function<void()>([&] { pool.map(function, indices(4)); }),
        std::function<void()>([&] { library.code().map_a_lambda(pool, indices(4)); })}) {
    auto text = problem(run);
    EXPECT_NE(text.find(library.path()), std::string::npos) << text;
    EXPECT_NE(text.find("not loaded in this job"), std::string::npos) << text;
  }
  // The jobs have lost nothing by it.
  EXPECT_EQ(pool.map(f, indices(100)), undisturbed(100));
  EXPECT_EQ(pool.stats().workers_lost, 0u);
}

TEST_P(CallablePlace, without_a_build_id_is_refused_where_the_call_is_made) {
  Pool pool(2);
  OpenedLibrary library(NAMELESS_LIBRARY);
  std::string text;
  try {
    library.code().map_a_lambda(pool, indices(4));
  } catch (const Error& error) {
    text = error.what();
  }
  EXPECT_NE(text.find("no build id"), std::string::npos) << text;
  EXPECT_EQ(pool.map(f, indices(100)), undisturbed(100)); // The pool lives on.
}

/// With a zygote, and each job at addresses of its own.
INSTANTIATE_TEST_SUITE_P(On, CallablePlace, testing::Values(modes()[0], modes()[1]),
                         mode_name);

} // namespace
} // namespace fiber::e2e
