// SPDX-License-Identifier: Apache-2.0
#include "backends/slurm/output_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

namespace fiber::backends::slurm {

void OutputFiles::add(Key key, const std::string& path) {
  std::lock_guard lock(mutex_);
  files_[key].path = path;
}

void OutputFiles::read(Key key) {
  std::lock_guard lock(mutex_);
  if (auto file = files_.find(key); file != files_.end())
    read(key, file->second, false);
}

void OutputFiles::read_all() {
  std::lock_guard lock(mutex_);
  for (auto& [key, file] : files_)
    read(key, file, false);
}

bool OutputFiles::finish(Key key) {
  std::lock_guard lock(mutex_);
  auto file = files_.find(key);
  if (file == files_.end())
    return false;
  read(key, file->second, true);
  bool any = file->second.read > 0;
  files_.erase(file);
  output_.close(key);
  return any;
}

/// Opens the file anew each time: only that shows what another computer has written.
void OutputFiles::read(Key key, File& file, bool to_end) {
  UniqueFd opened(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 64 * 1024> buffer;
  while (opened && (to_end || output_.has_room())) {
    ssize_t got = ::pread(opened.get(), buffer.data(), buffer.size(), file.read);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return;
    file.read += got;
    output_.write(key, std::string_view(buffer.data(), static_cast<std::size_t>(got)));
  }
}

} // namespace fiber::backends::slurm
