// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <sys/types.h>

namespace fiber::e2e {

/// This user or machine can't make such a control group; says why.
struct NoControlGroup : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A control group of our own below this process's, of version 1 or 2. Whoever is in it
/// at the end goes back.
class ControlGroup {
public:
  /// `controller` is "memory" or "pids". Throws NoControlGroup.
  explicit ControlGroup(const std::string& controller);
  ~ControlGroup();
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;

  /// At most so many bytes, or processes and threads.
  void limit(std::size_t most);
  void unlimit();
  /// How much there is of it now.
  std::size_t current() const;
  /// Who writes 0 to this file is in the group, with all that it starts.
  std::string door() const { return folder_ / "cgroup.procs"; }

private:
  bool is_v1_ = false;
  std::string controller_;
  std::filesystem::path parent_, folder_;
};

/// Goes through the door of a group. Throws std::runtime_error.
void join_group(const std::string& door);

} // namespace fiber::e2e
