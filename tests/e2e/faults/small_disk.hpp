// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>

#include "tests/e2e/support/own_namespace.hpp"

namespace fiber::e2e {

/// A file system in memory with room for so much, seen by the thread that makes it and
/// those that it starts later; it goes with the process at the latest.
class SmallDisk {
public:
  /// `folder` is made, and is the disk. Throws NoNamespace. Call it while this process
  /// has but one thread.
  SmallDisk(std::filesystem::path folder, std::size_t bytes);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  /// Gives it room for so much. Throws NoNamespace.
  void resize(std::size_t bytes);

private:
  const std::filesystem::path folder_;
};

} // namespace fiber::e2e
