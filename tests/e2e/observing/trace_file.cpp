// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/observing/trace_file.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace fiber::e2e {
namespace {

/// The file has nanoseconds in decimals, which are no sums of powers of two.
constexpr double rounding = 0.0015;

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

} // namespace

TraceFile::TraceFile(const std::string& path, bool cut) {
  auto text = text_of(path);
  if (cut && !text.ends_with("]\n")) {
    // SIGKILL also interrupts a write, so the last line may be half an event.
    if (!nlohmann::json::accept(text + "]"))
      text.resize(text.rfind(",\n"));
    text += "]";
  }
  events_ = nlohmann::json::parse(text);
  for (auto& event : events_)
    read(event);
  std::stable_sort(runs_.begin(), runs_.end(),
                   [](auto& a, auto& b) { return a.began < b.began; });
}

void TraceFile::read(const nlohmann::json& event) {
  auto kind = event.at("ph").get<std::string>();
  auto name = event.at("name").get<std::string>();
  auto pid = event.at("pid").get<std::uint64_t>();
  auto tid = event.value("tid", std::uint64_t{0});
  auto args = event.value("args", nlohmann::json::object());
  if (name == "process_name")
    processes_[pid] = args.at("name");
  else if (name == "thread_name")
    threads_[{pid, tid}] = args.at("name");
  else if (kind == "X" && event.at("cat") == "process")
    slices_.push_back(event);
  else if (kind == "X")
    runs_.push_back({pid, tid, args.at("call"), args.at("index"), args.at("attempt"),
                     args.at("outcome"), event.value("bind_id", ""),
                     event.value("flow_in", false), event.value("flow_out", false),
                     args.at("queued"), args.at("sent"), event.at("ts"),
                     event.at("ts").get<double>() + event.at("dur").get<double>(),
                     args.at("returned")});
  else if (kind == "b")
    phases_[{name, event.at("id2").at("local")}] = {
      pid, tid, args.at("call"), args.at("first"), args.at("tasks"), event.at("ts")};
  else if (kind == "e")
    phases_.at({name, event.at("id2").at("local")}).to = event.at("ts");
}

std::vector<TracedRun> TraceFile::runs_of(std::uint64_t index) const {
  std::vector<TracedRun> some;
  std::copy_if(runs_.begin(), runs_.end(), std::back_inserter(some),
               [&](auto& run) { return run.index == index; });
  return some;
}

std::vector<TracedPhase> TraceFile::phases(const std::string& name) const {
  std::vector<TracedPhase> some;
  for (auto& [key, phase] : phases_)
    if (key.first == name)
      some.push_back(phase);
  return some;
}

std::vector<nlohmann::json> TraceFile::instants(const std::string& name) const {
  std::vector<nlohmann::json> some;
  std::copy_if(
    events_.begin(), events_.end(), std::back_inserter(some),
    [&](auto& event) { return event.at("ph") == "i" && event.at("name") == name; });
  return some;
}

void expect_in_order(const TraceFile& trace, bool nested) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, double> free_since;
  for (auto& run : trace.runs()) {
    SCOPED_TRACE("task " + std::to_string(run.index));
    EXPECT_LE(run.queued, run.sent + rounding);
    EXPECT_LE(run.sent, run.began + rounding);
    EXPECT_LE(run.began, run.ended);
    EXPECT_LE(run.ended, run.returned + rounding);
    auto& row = free_since[{run.pid, run.tid}];
    if (!nested) {
      EXPECT_GE(run.began + rounding, row);
    }
    row = run.ended;
  }
  for (auto* name : {"queued", "sent", "returning"})
    for (auto& phase : trace.phases(name))
      EXPECT_LE(phase.from, phase.to) << name << " " << phase.first;
}

} // namespace fiber::e2e
