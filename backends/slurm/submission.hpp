// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "backends/slurm/slurm_backend.hpp"

namespace fiber::backends::slurm {

/// A job array to be submitted.
struct Submission {
  std::string name;   ///< Of the array.
  std::string folder; ///< Of the array: has start files and output files.
  std::size_t tasks = 1;
  JobResources resources = {};
};

/// FIBER_NODE of a job.
inline constexpr auto slurm_role = "slurm";
/// The exit code of a job's script that could not start the program.
inline constexpr int script_failed = 127;
/// The script prints this if another process has taken the start file.
inline constexpr auto no_start_file = "has no start file";

// Files of an array's folder.
std::string start_file(const std::string& folder, std::size_t index);
std::string output_file(const std::string& folder, std::size_t index);

/// Returns the script that all tasks of an array run: it gives the program its start file
/// as stdin, removes the file and becomes the program. `environment` is what the program
/// gets besides the environment of the job. sbatch itself must not have it: it may hold
/// LD_PRELOAD. Names that a shell can't export are left out. Slurm would give the program
/// the soft limit of open files that this process has raised for itself; `file_limit` is
/// the one that it should have, 0: no change.
std::string job_script(const std::string& folder, const std::string& program,
                       const std::vector<std::string>& arguments,
                       const std::map<std::string, std::string>& environment = {},
                       std::uint64_t file_limit = 0);
/// Returns whether a shell can export a variable of this name.
bool is_shell_name(const std::string& name);

/// Returns the words with which each sbatch command begins: one task on one node, never
/// requeued, with this process's environment.
std::vector<std::string> first_sbatch_words();

/// Returns the words of the sbatch command, which reads the script from stdin, so that no
/// other user can replace it on its way. `directory` is the jobs' working directory.
std::vector<std::string> sbatch_words(const Submission& submission,
                                      const SlurmOptions& options,
                                      const std::string& directory);

/// Returns the resources with the GPUs for which `options` ask besides: one, if they do.
JobResources resources_in_all(const JobResources& resources, const SlurmOptions& options);

/// Returns whether sbatch says that the user or the account has as many jobs as allowed.
bool is_submit_limit(const std::string& words);

/// Returns the text as one word of a POSIX shell.
std::string shell_word(const std::string& text);

/// Returns whether Slurm would read the text as a time limit: minutes, MM:SS, HH:MM:SS,
/// D-HH, D-HH:MM, D-HH:MM:SS, or UNLIMITED.
bool is_time_limit(const std::string& text);
/// Returns how many seconds before the end of its time limit a job is told to end.
int seconds_of_warning(const std::string& time_limit);

/// Returns whether the text consists of options of sbatch, without any that the backend
/// sets itself.
bool are_arguments(const std::string& text);

} // namespace fiber::backends::slurm
