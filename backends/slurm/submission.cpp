// SPDX-License-Identifier: Apache-2.0
#include "backends/slurm/submission.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>

#include "backends/registry.hpp"
#include "backends/resource_variables.hpp"
#include "base/ascii.hpp"
#include "fiber/detail/classic_locale.hpp"

namespace fiber::backends::slurm {

namespace {

/// Splits at a separator and reads each part as a number; nothing if one is none.
std::optional<std::vector<long>> numbers(const std::string& text, char separator) {
  constexpr std::size_t max_digits = 9;
  std::vector<long> result;
  fiber::detail::Classic<std::istringstream> parts(text + separator);
  for (std::string part; std::getline(parts, part, separator);) {
    if (part.empty() || part.size() > max_digits ||
        !std::ranges::all_of(part, [](unsigned char c) { return std::isdigit(c); }))
      return {};
    result.push_back(std::stol(part));
  }
  return result;
}

/// Returns the seconds of a time limit, -1 for none; nothing if it is not a time limit.
std::optional<long> seconds_of(const std::string& text) {
  constexpr long minute = 60, hour = 3600, day = 24 * hour;
  if (text == "UNLIMITED" || text == "INFINITE")
    return -1;
  auto dash = text.find('-');
  auto parts = numbers(dash == text.npos ? text : text.substr(dash + 1), ':');
  if (!parts || parts->size() > 3)
    return {};
  parts->resize(3); // Missing ones are 0.
  const long first = (*parts)[0], second = (*parts)[1], third = (*parts)[2];
  if (dash == text.npos) {
    auto colons = std::ranges::count(text, ':');
    return colons == 0   ? first * minute
           : colons == 1 ? first * minute + second
                         : first * hour + second * minute + third;
  }
  auto days = numbers(text.substr(0, dash), ':');
  if (!days || days->size() != 1)
    return {};
  return days->front() * day + first * hour + second * minute + third;
}

std::string gres_of(const SlurmOptions& options, int gpus) {
  auto gres = options.gres;
  if (gpus > 0 && gres.find("gpu") == gres.npos)
    gres += (gres.empty() ? "gpu:" : ",gpu:") + std::to_string(gpus);
  return gres;
}

} // namespace

std::string start_file(const std::string& folder, std::size_t index) {
  return folder + "/start." + std::to_string(index);
}

std::string output_file(const std::string& folder, std::size_t index) {
  return folder + "/output." + std::to_string(index);
}

std::string shell_word(const std::string& text) {
  std::string word = "'";
  for (char c : text)
    if (c == '\'')
      word += "'\\''";
    else
      word += c;
  return word + "'";
}

bool is_shell_name(const std::string& name) {
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
         std::ranges::all_of(
           name, [](char c) { return ascii::is_letter_or_digit(c) || c == '_'; });
}

std::string job_script(const std::string& folder, const std::string& program,
                       const std::vector<std::string>& arguments,
                       const std::map<std::string, std::string>& environment,
                       std::uint64_t file_limit) {
  auto start = shell_word(folder + "/start.") + "\"$SLURM_ARRAY_TASK_ID\"";
  auto refuse = [&](const std::string& test, const std::string& path,
                    const std::string& problem) {
    return "if [ ! " + test + " " + path + " ]; then\n  echo \"node $SLURMD_NODENAME \"" +
           shell_word(problem) + "\\ " + path + " >&2\n  exit " +
           std::to_string(script_failed) + "\nfi\n";
  };
  std::string script = "#!/bin/sh\n# A worker of Fiber.\n";
  script += refuse("-x", shell_word(program), "has no program");
  script += refuse("-r", start, no_start_file);
  script += "exec <" + start + "\nrm -f " + start + "\n";
  if (file_limit > 0)
    script += "ulimit -S -n " + std::to_string(file_limit) + " 2>/dev/null\n";
  for (auto& [name, value] : environment)
    if (is_shell_name(name))
      script += "export " + name + "=" + shell_word(value) + "\n";
  script +=
    std::string("export FIBER_NODE=") + slurm_role + "\nexec " + shell_word(program);
  for (auto& argument : arguments)
    script += " " + shell_word(argument);
  return script + "\n";
}

std::vector<std::string> first_sbatch_words() {
  return {"sbatch",    "--parsable", "--no-requeue",      "--export=ALL",
          "--nodes=1", "--ntasks=1", "--open-mode=append"};
}

std::vector<std::string> sbatch_words(const Submission& submission,
                                      const SlurmOptions& options,
                                      const std::string& directory) {
  auto& resources = submission.resources;
  auto cpus = cores_of(resources);
  auto words = first_sbatch_words();
  words.insert(words.end(),
               {"--job-name=" + submission.name,
                "--array=0-" + std::to_string(submission.tasks - 1),
                "--output=" + submission.folder + "/output.%a", "--chdir=" + directory,
                "--cpus-per-task=" + std::to_string(cpus),
                "--signal=B:TERM@" + std::to_string(seconds_of_warning(options.time))});
  auto add = [&](const char* option, const std::string& value) {
    if (!value.empty())
      words.push_back(std::string(option) + value);
  };
  if (resources.memory_mb > 0)
    add("--mem=", std::to_string(resources.memory_mb) + "M");
  add("--gres=", gres_of(options, resources.gpu));
  add("--partition=", options.partition);
  add("--account=", options.account);
  add("--qos=", options.qos);
  add("--time=", options.time);
  add("--constraint=", options.constraint);
  for (auto& word : words_of(options.arguments))
    words.push_back(word);
  return words;
}

JobResources resources_in_all(const JobResources& resources,
                              const SlurmOptions& options) {
  auto all = resources;
  for (auto* text : {&options.gres, &options.arguments}) // "--gpus-per-node=1"
    if (text->find("gpu") != text->npos)
      all.gpu = std::max(all.gpu, 1);
  return all;
}

bool is_submit_limit(const std::string& words) {
  // AssocMaxSubmitJobLimit, QOSMaxSubmitJobPerUserLimit, AssocGrpSubmitJobsLimit ...
  return words.find("SubmitJob") != words.npos;
}

bool is_time_limit(const std::string& text) {
  auto seconds = seconds_of(text);
  return seconds && *seconds != 0;
}

// Slurm looks at time limits every 30 s and may send the signal up to a minute early.
int seconds_of_warning(const std::string& time_limit) {
  constexpr long usual = 60, shortest = 1, part = 4;
  auto seconds = seconds_of(time_limit).value_or(-1);
  return static_cast<int>(seconds < 0 ? usual
                                      : std::clamp(seconds / part, shortest, usual));
}

bool are_arguments(const std::string& text) {
  constexpr std::array<std::string_view, 20> ours{
    "--array",      "--job-name",  "--output",        "--error",       "--chdir",
    "--export",     "--wrap",      "--signal",        "--requeue",     "--parsable",
    "--nodes",      "--wait",      "--test-only",     "--input",       "--ntasks",
    "--no-requeue", "--open-mode", "--cpus-per-task", "--export-file", "--get-user-env"};
  constexpr std::string_view short_ones = "aJoeDWNnci";
  auto words = words_of(text);
  // A word without a dash would be taken for the script, unless it belongs to an option.
  if (words.empty() || !words.front().starts_with('-'))
    return false;
  return std::ranges::all_of(words, [&](const std::string& word) {
    if (word.starts_with("--"))
      return std::ranges::find(ours, word.substr(0, word.find('='))) == ours.end();
    return word.starts_with('-') && word.size() > 1 &&
           short_ones.find(word[1]) == short_ones.npos;
  });
}

} // namespace fiber::backends::slurm
