// SPDX-License-Identifier: Apache-2.0
#include "base/sync_folder.hpp"

#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

#include "base/unique_fd.hpp"

namespace fiber {

void sync_folder_of(const std::string& path) {
  auto folder = std::filesystem::path(path).parent_path();
  UniqueFd directory(
    ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory)
    ::fsync(directory.get());
}

} // namespace fiber
