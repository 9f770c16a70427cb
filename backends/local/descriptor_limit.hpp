// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace fiber::backends::local {

/// Raises this process's soft limit of open descriptors to the hard limit when its jobs
/// are about to reach it. Jobs get the original limit, on which their code may rely:
/// select() fails for descriptors from 1024 on.
///
/// Thread safety: none.
class DescriptorLimit {
public:
  DescriptorLimit();
  /// Restores the original limit, unless the program has changed it meanwhile.
  ~DescriptorLimit();
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

  /// Returns the original limit; 0: unknown.
  std::uint64_t usual() const { return usual_; }
  /// Raises the limit if need be, before a job is created beside `jobs` others.
  void make_room(std::size_t jobs);

private:
  std::uint64_t usual_ = 0;
  std::uint64_t raised_to_ = 0;
};

/// In a job: restores this soft limit; 0: no change.
void set_soft_limit(std::uint64_t descriptors);

} // namespace fiber::backends::local
