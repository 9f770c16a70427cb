// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace fiber::actors {

/// Sums up for the log what jobs wait for that have not started: one line for each
/// reason, however many jobs have it. A reason is known by its words before ": ".
class WaitNews {
public:
  /// The job waits; without words it no longer does.
  void waits(const std::string& job, const std::string& words);
  /// Returns the lines that were not returned before, such as "pool1.w0-1 and 63 other
  /// jobs wait: Unschedulable: 0/2 nodes are available". Once no job waits, all reasons
  /// are new.
  std::vector<std::string> take();

private:
  std::map<std::string, std::string> words_; ///< By job.
  std::set<std::string> told_;
};

} // namespace fiber::actors
