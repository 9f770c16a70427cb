// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

namespace fiber::tests {

/// A new folder of mode 0700, which is removed at the end.
class TemporaryFolder {
public:
  TemporaryFolder() {
    auto name = testing::TempDir() + "fiber-test-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
};

} // namespace fiber::tests
