// SPDX-License-Identifier: Apache-2.0
#include "cli/slurm/driver_job.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <unistd.h>

#include "backends/driver_variables.hpp"
#include "backends/registry.hpp"
#include "backends/slurm/submission.hpp"
#include "fiber/error.hpp"
#include "libfiber/session/settings.hpp"

namespace fiber::cli::slurm {

using backends::slurm::shell_word;

namespace {

const std::string comment_begin = "fiber driver ", comment_middle = " > ";

/// The script of the job becomes the program, so that signals reach it.
std::string script_of(const RunRequest& request, const std::string& program) {
  auto script =
    "if [ ! -x " + shell_word(program) +
    " ]; then echo \"node $SLURMD_NODENAME has no program \"" + shell_word(program) +
    "\"; it must be on a file system that all nodes share\" >&2; exit " +
    std::to_string(backends::slurm::script_failed) + "; fi\nexec " + shell_word(program);
  for (auto word = request.command.begin() + 1; word != request.command.end(); ++word)
    script += " " + shell_word(*word);
  return script;
}

/// Slurm replaces %j and the like in the names of output files.
std::string escaped(const std::string& path) {
  std::string text;
  for (char c : path)
    text += c == '%' ? "%%" : std::string(1, c);
  return text;
}

} // namespace

std::string DriverComment::text() const {
  return comment_begin + program + comment_middle + output;
}

std::optional<DriverComment> DriverComment::parse(const std::string& text) {
  auto middle = text.rfind(comment_middle);
  if (!text.starts_with(comment_begin) || middle == text.npos)
    return {};
  auto from = comment_begin.size(), behind = middle + comment_middle.size();
  return DriverComment{text.substr(from, middle - from), text.substr(behind)};
}

std::vector<std::string> driver_words(const RunRequest& request,
                                      const std::string& program, const std::string& name,
                                      const OutputFiles& files) {
  auto values = resolve({}).backend_values;
  auto words = backends::slurm::first_sbatch_words();
  // An array of one task: the reports of arrays are those that the backend reads.
  words.insert(words.end(),
               {"--array=0-0", "--job-name=" + name,
                "--comment=" + DriverComment{program, files.out}.text(),
                "--output=" + escaped(files.out), "--error=" + escaped(files.err),
                "--chdir=" + std::filesystem::current_path().string()});
  auto add = [&](const char* option, const std::string& value) {
    if (!value.empty())
      words.push_back(std::string(option) + value);
  };
  if (request.cpu > 0)
    add("--cpus-per-task=", std::to_string(std::lround(std::ceil(request.cpu))));
  if (request.memory_mb > 0)
    add("--mem=", std::to_string(request.memory_mb) + "M");
  if (request.gpu > 0)
    add("--gres=gpu:", std::to_string(request.gpu));
  add("--time=", request.time);
  add("--partition=", values["slurm_partition"]);
  add("--account=", values["slurm_account"]);
  add("--qos=", values["slurm_qos"]);
  for (auto& word : backends::words_of(values["slurm_arguments"]))
    words.push_back(word);
  words.push_back("--wrap=" + script_of(request, program));
  return words;
}

std::string submit_driver(const RunRequest& request,
                          const std::vector<std::string>& words) {
  auto environment = request.environment;
  environment["FIBER_BACKEND"] = "auto"; // In an allocation, that is slurm.
  if (!environment.contains("FIBER_ADVERTISE_ADDRESS"))
    environment["FIBER_ADVERTISE_ADDRESS"] = ""; // This machine's, not the node's.
  // The commands of Slurm don't get these, but this program becomes a driver.
  for (char** entry = ::environ; entry && *entry; ++entry)
    if (std::string word = *entry; backends::sets_driver_only(word))
      if (auto equals = word.find('='); equals != word.npos)
        environment.try_emplace(word.substr(0, equals), word.substr(equals + 1));
  auto told = backends::slurm::run_command(words, environment);
  if (!told.ok())
    throw Error("submit the program to Slurm: " + told.problem() +
                "; fiber doctor slurm says more");
  auto id = backends::slurm::parse_submitted(told.output);
  if (!id)
    throw Error("submit the program to Slurm: sbatch said '" + told.output + "'");
  return *id;
}

std::vector<std::string> look_words(const std::string& id) {
  std::vector<std::string> words{"squeue", "--jobs=" + id};
  for (auto& option : backends::slurm::row_options())
    words.push_back(option);
  return words;
}

JobLook read_look(const std::string& id, const backends::slurm::CommandResult& told) {
  if (!told.ok() && told.errors.find("Invalid job id") == told.errors.npos)
    return {.answered = false, .problem = told.problem()};
  JobLook look;
  for (auto& row : backends::slurm::parse_rows(told.output))
    if (row.array == id)
      look.row = row;
  return look;
}

} // namespace fiber::cli::slurm
