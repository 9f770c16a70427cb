// SPDX-License-Identifier: Apache-2.0
#include "backends/kubernetes/watched_file.hpp"

#include <fcntl.h>

#include <cerrno>
#include <system_error>

#include "base/unique_fd.hpp"

namespace fiber::backends::kubernetes {

namespace {

const char* const white_space = " \t\r\n";

/// Reads the whole file. Returns 0 or errno.
int read_all(const std::string& path, std::string& text) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file)
    return errno;
  char piece[4096];
  for (;;) {
    ssize_t got = ::read(file.get(), piece, sizeof piece);
    if (got == 0)
      return 0;
    if (got > 0)
      text.append(piece, static_cast<std::size_t>(got));
    else if (errno != EINTR)
      return errno;
  }
}

bool same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

} // namespace

WatchedFile::WatchedFile(std::string path) : path_(std::move(path)) {
  refresh();
}

bool WatchedFile::looks_changed() {
  struct stat now {};
  ::stat(path_.c_str(), &now); // All zeros if it is missing.
  if (read_ && same(now, seen_) && Clock::now() < read_at_ + std::chrono::minutes(1))
    return false;
  seen_ = now;
  return true;
}

std::string WatchedFile::trimmed() const {
  auto first = text_.find_first_not_of(white_space);
  if (first == text_.npos)
    return {};
  return text_.substr(first, text_.find_last_not_of(white_space) - first + 1);
}

bool WatchedFile::refresh(bool force) {
  if (path_.empty() || (!looks_changed() && !force))
    return false;
  read_ = true;
  read_at_ = Clock::now();
  std::string text;
  int problem = read_all(path_, text);
  error_.clear();
  if (problem != 0)
    error_ = std::generic_category().message(problem);
  else if (text.find_first_not_of(white_space) == text.npos)
    error_ = "is empty";
  if (!error_.empty() || text == text_)
    return false;
  text_ = std::move(text);
  return true;
}

} // namespace fiber::backends::kubernetes
