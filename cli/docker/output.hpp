// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fiber::cli::docker {

/// Writes the output of a container to this process's stdout and stderr. The engine sends
/// it in frames: the number of the stream, three zeros, the length in network order, the
/// bytes.
class Output {
public:
  void feed(std::string_view bytes);

private:
  std::string head_;
  std::size_t left_ = 0;
  int fd_ = 1;
};

} // namespace fiber::cli::docker
