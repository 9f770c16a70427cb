// SPDX-License-Identifier: Apache-2.0
#include "cli/slurm/left.hpp"

#include <chrono>
#include <filesystem>
#include <set>
#include <system_error>
#include <thread>

#include "backends/slurm/command.hpp"
#include "backends/slurm/strangers.hpp"
#include "cli/engines/left.hpp"
#include "fiber/error.hpp"
#include "libfiber/session/settings.hpp"

namespace fiber::cli::slurm {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds end_limit{40};
constexpr std::chrono::milliseconds look_again{500};

/// Returns the ids of a session's jobs that are not over.
std::set<std::string> jobs_of(const std::string& session) {
  auto told = backends::slurm::run_command(
    {"squeue", "--noheader", "--user=" + backends::slurm::user_id(), "--format=%F %j"});
  if (!told.ok())
    throw Error("look for the jobs of session " + session + ": " + told.problem());
  return backends::slurm::jobs_of(told.output, session);
}

std::vector<std::string> find(const std::string& session) {
  std::vector<std::string> all;
  for (auto& id : jobs_of(session))
    all.push_back("job " + id);
  auto folder = session_base() + "/" + session;
  if (std::error_code none; fs::exists(folder, none))
    all.push_back("folder " + folder);
  return all;
}

void remove(const std::string& session) {
  auto end = Clock::now() + end_limit;
  remove_session({.session = session, .folder = session_base() + "/" + session});
  while (!jobs_of(session).empty() && Clock::now() < end)
    std::this_thread::sleep_for(look_again);
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

} // namespace fiber::cli::slurm

namespace fiber::cli {

LeftTools slurm_left() {
  return {.engine = "slurm", .find = slurm::find, .remove = slurm::remove};
}

} // namespace fiber::cli
