// SPDX-License-Identifier: Apache-2.0
#include "backends/slurm/job_rows.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <sstream>
#include <string_view>

#include "fiber/detail/classic_locale.hpp"

namespace fiber::backends::slurm {

namespace {

constexpr std::size_t columns = 7;

std::optional<int> number(const std::string& text) {
  int value = 0;
  auto end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end)
    return {};
  return value;
}

/// Reads an exit code: Slurm 22.05 lists what wait(2) said, "10752", Slurm 24.11 code and
/// signal, "42:0".
std::optional<int> wait_status_of(const std::string& text) {
  auto colon = text.find(':');
  if (colon == text.npos)
    return number(text);
  auto code = number(text.substr(0, colon)), signal = number(text.substr(colon + 1));
  if (!code || !signal)
    return {};
  return W_EXITCODE(*code, *signal);
}

template <std::size_t N>
bool is_one_of(const std::string& state, const std::array<std::string_view, N>& states) {
  return std::ranges::find(states, state) != states.end();
}

} // namespace

bool JobRow::waits() const {
  constexpr std::array<std::string_view, 6> states{"PENDING",      "CONFIGURING",
                                                   "REQUEUED",     "REQUEUE_HOLD",
                                                   "SPECIAL_EXIT", "RESV_DEL_HOLD"};
  return is_one_of(state, states);
}

bool JobRow::is_in_queue() const {
  // "None" is the reason of a job that Slurm has not looked at yet. For the limits of QOS
  // and association see below.
  constexpr std::array<std::string_view, 17> patient{"Resources",
                                                     "Priority",
                                                     "BeginTime",
                                                     "Dependency",
                                                     "Licenses",
                                                     "Reservation",
                                                     "ReqNodeNotAvail",
                                                     "Nodes required for job are",
                                                     "Nodes_required_for_job_are",
                                                     "JobArrayTaskLimit",
                                                     "BurstBufferResources",
                                                     "BurstBufferStageIn",
                                                     "Cleaning",
                                                     "Prolog",
                                                     "SchedDefer",
                                                     "PowerNotAvail",
                                                     "PowerReserved"};
  constexpr std::array<std::string_view, 2> never{"DependencyNeverSatisfied",
                                                  "ReservationDeleted"};
  if (state == "CONFIGURING") // Its nodes boot, for as long as ResumeTimeout at most.
    return true;
  if (state != "PENDING" || is_one_of(reason, never))
    return false;
  auto has = [&](std::string_view part) { return reason.find(part) != reason.npos; };
  // Limits of all jobs together. The job itself exceeds the others: QOSMaxCpuPerJobLimit.
  if (reason.starts_with("QOS") || reason.starts_with("Assoc"))
    return (has("Grp") || has("PerUser") || has("PerAccount") || has("MaxJobs") ||
            has("JobLimit") || has("ResourceLimit") || has("MaxSubmit")) &&
           !has("PerJob");
  return reason.empty() || std::ranges::any_of(patient, [&](std::string_view word) {
           return reason.starts_with(word);
         });
}

bool JobRow::over() const {
  constexpr std::array<std::string_view, 11> states{
    "COMPLETED", "FAILED",   "CANCELLED", "TIMEOUT",       "NODE_FAIL",    "PREEMPTED",
    "BOOT_FAIL", "DEADLINE", "REVOKED",   "OUT_OF_MEMORY", "LAUNCH_FAILED"};
  return is_one_of(state, states);
}

// The name comes last: it alone might have a '|' in it, if it is another's.
std::vector<std::string> row_options() {
  return {"--noheader", "--array", "--states=all",
          "--Format=ArrayJobID:|,ArrayTaskID:|,State:|,exit_code:|,NodeList:|,Reason:|,"
          "Name:|"};
}

std::vector<JobRow> parse_rows(const std::string& output) {
  std::vector<JobRow> rows;
  fiber::detail::Classic<std::istringstream> lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> cells;
    fiber::detail::Classic<std::istringstream> parts(line);
    for (std::string cell; std::getline(parts, cell, '|');) {
      auto begin = cell.find_first_not_of(' ');
      cells.push_back(begin == cell.npos
                        ? ""
                        : cell.substr(begin, cell.find_last_not_of(' ') - begin + 1));
    }
    if (cells.size() != columns)
      continue;
    auto index = number(cells[1]), status = wait_status_of(cells[3]);
    if (!number(cells[0]) || !index || !status)
      continue;
    rows.push_back({.array = cells[0],
                    .index = *index,
                    .name = cells[6],
                    .state = cells[2],
                    .reason = cells[5] == "None" ? "" : cells[5],
                    .wait_status = *status,
                    .node = cells[4]});
  }
  return rows;
}

std::vector<std::string> accounting_options() {
  return {"--noheader", "--parsable2", "--allocations",
          "--format=State,ExitCode,NodeList"};
}

std::optional<JobRow> parse_accounting(const std::string& output) {
  fiber::detail::Classic<std::istringstream> cells(output.substr(0, output.find('\n')));
  JobRow row;
  std::string state, exit;
  if (!std::getline(cells, state, '|') || !std::getline(cells, exit, '|'))
    return {};
  std::getline(cells, row.node);
  row.state = state.substr(0, state.find(' ')); // "CANCELLED by 1000"
  auto status = wait_status_of(exit);
  if (!status || !row.over())
    return {};
  row.wait_status = *status;
  return row;
}

JobEnd end_of(const JobRow& row, std::size_t memory_mb, bool by_us) {
  auto status = row.wait_status;
  auto exit = Exit::known(WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
  auto where = row.node.empty() ? "" : ", node " + row.node;
  if (row.state == "COMPLETED" || row.state == "FAILED") {
    if (exit.code != 0)
      exit.detail += where;
    return {.exit = exit};
  }
  if (row.state == "OUT_OF_MEMORY")
    return {.exit = {-SIGKILL,
                     "OOMKilled" +
                       (memory_mb > 0 ? ", limit " + std::to_string(memory_mb) + " MiB"
                                      : std::string()) +
                       where}};
  // Slurm reports for these what it did, not how the process ended.
  if (row.state == "CANCELLED")
    return {.exit = {exit.code, (by_us ? "cancelled" : "cancelled by scancel") + where},
            .disrupted = !by_us};
  if (row.state == "TIMEOUT" || row.state == "DEADLINE")
    return {.exit = {{}, "its time limit has passed (slurm_time)" + where},
            .disrupted = true};
  if (row.state == "PREEMPTED")
    return {.exit = {{}, "preempted" + where}, .disrupted = true};
  // The processes of a node that Slurm gave up may run on.
  return {.exit = Exit::unknown("Slurm says " + row.state + where),
          .disrupted = true,
          .confirmed = false};
}

std::optional<std::string> parse_submitted(const std::string& output) {
  auto id = output.substr(0, output.find_first_of(";\n \r"));
  if (!number(id))
    return {};
  return id;
}

} // namespace fiber::backends::slurm
