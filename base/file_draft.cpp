// SPDX-License-Identifier: Apache-2.0
#include "base/file_draft.hpp"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include "base/random_id.hpp"
#include "base/sync_folder.hpp"

namespace fiber {

FileDraft::FileDraft(std::string path)
  : path_(std::move(path)), name_(path_ + "." + random_id() + ".part") {
  struct stat old {};
  const bool is_there = ::lstat(path_.c_str(), &old) == 0;
  if (is_there && !S_ISREG(old.st_mode) && !S_ISLNK(old.st_mode))
    fail(S_ISDIR(old.st_mode) ? EISDIR : EEXIST);
  open();
  if (is_there && S_ISREG(old.st_mode) && old.st_uid == ::geteuid())
    ::fchmod(fd_.get(), old.st_mode & 0755);
}

/// Opens an unnamed file or, where there are none, one of this draft's name.
void FileDraft::open() {
  constexpr mode_t mode = 0600;
  auto folder = std::filesystem::path(path_).parent_path().string();
  fd_.reset(::open(folder.empty() ? "." : folder.c_str(),
                   O_TMPFILE | O_WRONLY | O_CLOEXEC, mode));
  if (fd_)
    return;
  fd_.reset(
    ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!fd_)
    fail(errno);
  named_ = true;
}

FileDraft::~FileDraft() {
  if (named_)
    ::unlink(name_.c_str());
}

void FileDraft::write(std::string_view bytes) {
  while (!bytes.empty()) {
    auto n = ::write(fd_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      fail(errno);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void FileDraft::publish() {
  auto self = "/proc/self/fd/" + std::to_string(fd_.get());
  if (!named_ &&
      ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name_.c_str(), AT_SYMLINK_FOLLOW) != 0)
    fail(errno);
  named_ = true;
  fd_.reset();
  if (std::rename(name_.c_str(), path_.c_str()) != 0)
    fail(errno);
  named_ = false;
}

void FileDraft::publish_to_disk() {
  if (::fsync(fd_.get()) != 0)
    fail(errno);
  publish();
  sync_folder_of(path_);
}

void FileDraft::fail(int error) const {
  throw std::system_error(error, std::generic_category(), "cannot write " + path_);
}

void replace_file(const std::string& path, std::string_view content) {
  FileDraft draft(path);
  draft.write(content);
  draft.publish();
}

} // namespace fiber
