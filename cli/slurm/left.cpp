// SPDX-License-Identifier: Apache-2.0
#include "cli/slurm/left.hpp"

#include <chrono>
#include <filesystem>
#include <set>
#include <system_error>

#include "backends/slurm/command.hpp"
#include "backends/slurm/strangers.hpp"
#include "cli/engines/left.hpp"
#include "fiber/error.hpp"
#include "libfiber/session/settings.hpp"

namespace fiber::cli::slurm {

namespace fs = std::filesystem;

namespace {

/// Returns the ids of a session's jobs that are not over.
std::set<std::string> jobs_of(const std::string& session) {
  auto told = backends::slurm::run_command(
    {"squeue", "--noheader", "--user=" + backends::slurm::user_id(), "--format=%F %j"});
  if (!told.ok())
    throw Error("look for the jobs of session " + session + ": " + told.problem());
  return backends::slurm::jobs_of(told.output, session);
}

} // namespace

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
  auto ids = jobs_of(place.session);
  if (!ids.empty()) {
    std::vector<std::string> words{"scancel"};
    words.insert(words.end(), ids.begin(), ids.end());
    if (auto ended = backends::slurm::run_command(words); !ended.ok())
      throw Error("cancel the jobs of session " + place.session + ": " + ended.problem());
  }
  std::error_code ignored;
  fs::remove_all(place.folder, ignored);
}

void remove_sessions_of(const std::string& driver_job) {
  for (auto& place : session_places())
    if (place.driver.job == driver_job)
      remove_session(place);
}

/// Its jobs are cancelled only once: scancel refuses a job that is ending.
Left left_of(const std::string& session) {
  SessionPlace place{.session = session, .folder = session_base() + "/" + session};
  return {.list =
            [=] {
              std::vector<std::string> all;
              for (auto& id : jobs_of(session))
                all.push_back("job " + id);
              if (std::error_code none; fs::exists(place.folder, none))
                all.push_back("folder " + place.folder);
              return all;
            },
          .remove =
            [=](bool again) {
              if (!again)
                remove_session(place);
              return "";
            },
          .end_limit = std::chrono::seconds(40)};
}

} // namespace fiber::cli::slurm
