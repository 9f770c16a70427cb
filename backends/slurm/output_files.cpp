// SPDX-License-Identifier: Apache-2.0
#include "backends/slurm/output_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

namespace fiber::backends::slurm {

namespace {

/// Returns whether slurmstepd says in this line that somebody has cancelled the job, and
/// not that a time limit or another job has.
bool tells_of_cancellation(std::string_view line) {
  return line.starts_with("slurmstepd") && line.find("error: *** ") != line.npos &&
         line.find(" CANCELLED AT ") != line.npos && line.find(" DUE TO ") == line.npos;
}

std::string without_cancellation(std::string_view text) {
  std::string rest;
  while (!text.empty()) {
    auto line = text.substr(0, text.find('\n'));
    auto length = std::min(line.size() + 1, text.size()); // With its end, if it has one.
    if (!tells_of_cancellation(line))
      rest += text.substr(0, length);
    text.remove_prefix(length);
  }
  return rest;
}

} // namespace

void OutputFiles::add(Key key, const std::string& path) {
  std::lock_guard lock(mutex_);
  files_[key].path = path;
}

void OutputFiles::end_is_wanted(Key key) {
  std::lock_guard lock(mutex_);
  if (auto file = files_.find(key); file != files_.end())
    file->second.end_is_wanted = true;
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
    const std::string_view text(buffer.data(), static_cast<std::size_t>(got));
    if (file.end_is_wanted) // slurmstepd writes a line at a time.
      output_.write(key, without_cancellation(text));
    else
      output_.write(key, text);
  }
}

} // namespace fiber::backends::slurm
