// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "backends/slurm/command.hpp"
#include "backends/slurm/strangers.hpp"
#include "cli/slurm/driver_job.hpp"
#include "cli/slurm/left.hpp"
#include "cli/slurm/slurm.hpp"
#include "fiber/detail/classic_locale.hpp"
#include "fiber/error.hpp"

namespace fiber::cli::slurm {
namespace {

using backends::slurm::run_command;

/// A job of squeue's listing, if it is a driver's.
struct Row {
  RemoteDriver driver;
  std::string output; ///< The file.
};

/// Returns the jobs of drivers in these states, as squeue names them.
std::vector<Row> rows(const std::string& states) {
  auto told =
    run_command({"squeue", "--noheader", "--sort=i", "--states=" + states,
                 "--user=" + backends::slurm::user_id(), "--format=%F|%T|%k|%j"});
  if (!told.ok())
    throw Error("list the jobs of drivers: " + told.problem());
  std::vector<Row> all;
  fiber::detail::Classic<std::istringstream> lines(told.output);
  for (std::string line; std::getline(lines, line);) {
    fiber::detail::Classic<std::istringstream> fields(line);
    std::string id, state, comment, name;
    std::getline(fields, id, '|');
    std::getline(fields, state, '|');
    std::getline(fields, comment, '|');
    std::getline(fields, name);
    auto about = DriverComment::parse(comment);
    if (about && state != "PENDING")
      all.push_back({.driver = {.engine = "slurm",
                                .name = name,
                                .id = id,
                                .place = "job " + id,
                                .program = about->program,
                                .ended = state != "RUNNING"},
                     .output = about->output});
  }
  return all;
}

std::vector<RemoteDriver> list(bool ended_too) {
  std::vector<RemoteDriver> all;
  for (auto& row : rows(ended_too ? "all" : "RUNNING"))
    all.push_back(std::move(row.driver));
  return all;
}

std::string output(const RemoteDriver& driver) {
  for (auto& row : rows("all")) {
    if (row.driver.id != driver.id)
      continue;
    fiber::detail::Classic<std::ifstream> file(row.output, std::ios::binary);
    if (!file)
      throw Error("can't read " + row.output + ", the output of job " + driver.id);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  throw Error("Slurm no longer has job " + driver.id);
}

/// Beside the driver's own task, whose processors it shares.
std::string run_beside(const RemoteDriver& driver,
                       const DriverTools::Arguments& arguments) {
  std::vector<std::string> words{
    "srun",      "--jobid=" + driver.id, "--overlap", "--ntasks=1",
    "--nodes=1", "--input=none",         "--quiet",   driver.program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  auto told = run_command(words);
  if (!told.ok())
    throw Error("look into job " + driver.id + ": " + told.problem());
  return told.output;
}

bool has_ended(const RemoteDriver& driver) {
  auto look = read_look(driver.id, run_command(look_words(driver.id)));
  if (!look.answered)
    throw Error("look at job " + driver.id + ": " + look.problem);
  return !look.row || look.row->over();
}

void kill(const RemoteDriver& driver) {
  auto told = run_command({"scancel", "--batch", "--signal=KILL", driver.id});
  if (!told.ok() && !has_ended(driver))
    throw Error("cancel job " + driver.id + ": " + told.problem());
  remove_sessions_of(driver.id);
}

} // namespace

const DriverTools drivers{.list = list,
                          .output = output,
                          .run_beside = run_beside,
                          .has_ended = has_ended,
                          .kill = kill};

} // namespace fiber::cli::slurm
