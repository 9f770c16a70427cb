// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/faults/small_disk.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <sched.h>
#include <sys/mount.h>

namespace fiber::e2e {
namespace {

void mount_disk(const std::filesystem::path& folder, std::size_t bytes,
                unsigned long flags) {
  if (mount("small_disk", folder.c_str(), "tmpfs", flags,
            ("size=" + std::to_string(bytes)).c_str()) != 0)
    throw NoNamespace("mount " + folder.string() + ": " + std::strerror(errno));
}

} // namespace

SmallDisk::SmallDisk(std::filesystem::path folder, std::size_t bytes)
  : folder_(std::move(folder)) {
  enter_own_namespace(CLONE_NEWNS);
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    throw NoNamespace(std::string("make mounts private: ") + std::strerror(errno));
  std::filesystem::create_directory(folder_);
  mount_disk(folder_, bytes, 0);
}

SmallDisk::~SmallDisk() {
  umount2(folder_.c_str(), MNT_DETACH);
}

void SmallDisk::resize(std::size_t bytes) {
  mount_disk(folder_, bytes, MS_REMOUNT);
}

} // namespace fiber::e2e
