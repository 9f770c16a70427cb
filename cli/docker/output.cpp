// SPDX-License-Identifier: Apache-2.0
#include "cli/docker/output.hpp"

#include <unistd.h>

#include "cli/engines/tail.hpp"

namespace fiber::cli::docker {
namespace {

constexpr std::size_t head_size = 8;

} // namespace

void Output::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (left_ > 0) {
      auto piece = bytes.substr(0, left_);
      write_all(fd_, piece);
      left_ -= piece.size();
      bytes.remove_prefix(piece.size());
      continue;
    }
    auto more = bytes.substr(0, head_size - head_.size());
    head_ += more;
    bytes.remove_prefix(more.size());
    if (head_.size() < head_size)
      return;
    fd_ = head_[0] == 2 ? STDERR_FILENO : STDOUT_FILENO;
    for (std::size_t i = 4; i < head_size; ++i)
      left_ = left_ << 8 | static_cast<unsigned char>(head_[i]);
    head_.clear();
  }
}

} // namespace fiber::cli::docker
