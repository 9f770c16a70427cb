// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace fiber::e2e {

/// One run of a task as a trace has it; times in microseconds.
struct TracedRun {
  std::uint64_t pid = 0, tid = 0;
  std::uint64_t call = 0, index = 0;
  int attempt = 0;
  std::string outcome, task;
  bool follows = false, is_followed = false;
  double queued = 0, sent = 0, began = 0, ended = 0, returned = 0;
};
/// What holds for several tasks together: "queued", "sent", "returning".
struct TracedPhase {
  std::uint64_t pid = 0, tid = 0;
  std::uint64_t call = 0, first = 0, tasks = 0;
  double from = 0, to = -1;
};

/// A trace, read by somebody else's parser.
class TraceFile {
public:
  /// Throws if the file is no JSON. With `cut` the file may end anywhere after its first
  /// event.
  explicit TraceFile(const std::string& path, bool cut = false);

  const std::vector<TracedRun>& runs() const { return runs_; }
  /// All runs of a task, in order.
  std::vector<TracedRun> runs_of(std::uint64_t index) const;
  std::vector<TracedPhase> phases(const std::string& name) const;
  /// What lasted and is no run of a task, in the order of its end.
  const std::vector<nlohmann::json>& slices() const { return slices_; }
  /// Instants of that name.
  std::vector<nlohmann::json> instants(const std::string& name) const;
  const std::string& process(std::uint64_t pid) const { return processes_.at(pid); }
  const std::string& thread(std::uint64_t pid, std::uint64_t tid) const {
    return threads_.at({pid, tid});
  }
  std::size_t events() const { return events_.size(); }

private:
  void read(const nlohmann::json& event);

  nlohmann::json events_;
  std::vector<TracedRun> runs_;
  std::vector<nlohmann::json> slices_;
  std::map<std::pair<std::string, std::string>, TracedPhase> phases_; ///< Name and id.
  std::map<std::uint64_t, std::string> processes_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> threads_;
};

/// Each run lies within what came before and after it, and no two of them in one row at
/// a time.
void expect_in_order(const TraceFile& trace, bool nested = false);

} // namespace fiber::e2e
