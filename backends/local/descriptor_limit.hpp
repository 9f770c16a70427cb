// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace fiber::backends::local {

/// This program's soft limit of open descriptors, raised to the hard one when its jobs
/// are about to reach it. Jobs are told the usual one, since what they run may rely on
/// it: select() can't take descriptors from 1024 on.
///
/// Thread safety: none.
class DescriptorLimit {
public:
  DescriptorLimit();
  /// Puts the usual one back, unless somebody else has changed it meanwhile.
  ~DescriptorLimit();
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

  /// What it was before; 0: unknown.
  std::uint64_t usual() const { return usual_; }
  /// Before a job is made; `jobs` are there already.
  void make_room(std::size_t jobs);

private:
  std::uint64_t usual_ = 0;
  std::uint64_t raised_to_ = 0;
};

/// In a job: makes this the soft limit again. 0: leaves it alone.
void set_soft_limit(std::uint64_t descriptors);

} // namespace fiber::backends::local
