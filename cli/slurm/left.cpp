// SPDX-License-Identifier: Apache-2.0
#include "cli/slurm/left.hpp"

#include <filesystem>
#include <set>
#include <sstream>

#include "backends/slurm/command.hpp"
#include "backends/slurm/strangers.hpp"
#include "fiber/error.hpp"
#include "libfiber/session/settings.hpp"

namespace fiber::cli::slurm {

namespace fs = std::filesystem;

std::string session_base() {
  auto values = resolve({}).backend_values;
  auto& set = values["slurm_directory"];
  return set.empty() ? backends::slurm::usual_base() : set;
}

std::vector<SessionPlace> session_places() {
  std::vector<SessionPlace> all;
  std::error_code none;
  for (auto& entry : fs::directory_iterator(session_base(), none))
    if (auto note = backends::slurm::read_driver_note(entry.path().string()))
      all.push_back({.session = entry.path().filename().string(),
                     .folder = entry.path().string(),
                     .driver = *note});
  return all;
}

void remove_session(const SessionPlace& place) {
  auto told = backends::slurm::run_command(
    {"squeue", "--noheader", "--user=" + backends::slurm::user_id(), "--format=%F %j"});
  if (!told.ok())
    throw Error("look for the jobs of session " + place.session + ": " + told.problem());
  auto ids = backends::slurm::jobs_of(told.output, place.session);
  if (!ids.empty()) {
    std::vector<std::string> words{"scancel"};
    words.insert(words.end(), ids.begin(), ids.end());
    if (auto ended = backends::slurm::run_command(words); !ended.ok())
      throw Error("cancel the jobs of session " + place.session + ": " + ended.problem());
  }
  std::error_code ignored;
  fs::remove_all(place.folder, ignored);
}

} // namespace fiber::cli::slurm
