// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <istream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fiber/fiber.hpp>

namespace paper {

/// A pool gets so many workers, so many seconds after the start.
struct ResizeAt {
  double seconds = 0;
  std::size_t workers = 0;

  /// Reads "SECONDS:WORKERS"; fails for anything else.
  friend std::istream& operator>>(std::istream& in, ResizeAt& value);
};

/// Resizes a pool at its times, and looks at it four times a second, until it ends.
class Watch {
public:
  /// `pool` must outlive this. `resizes` are in the order of their times.
  Watch(fiber::Pool& pool, std::vector<ResizeAt> resizes);

  /// Writes what was seen: seconds, workers that are up, workers wanted, tasks done.
  void save(const std::string& csv) const;

private:
  struct Sample {
    double seconds = 0;
    std::size_t workers = 0;
    std::size_t wanted = 0; ///< By the last resize; 0 before the first.
    std::size_t done = 0;
  };

  void run(const std::stop_token& stop);

  fiber::Pool& pool_;
  std::vector<ResizeAt> resizes_;
  mutable std::mutex mutex_;
  std::vector<Sample> samples_;
  std::jthread thread_; ///< Last: it uses what is above.
};

} // namespace paper
