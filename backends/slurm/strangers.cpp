// SPDX-License-Identifier: Apache-2.0
#include "backends/slurm/strangers.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/log.hpp"
#include "fiber/detail/classic_locale.hpp"

namespace fiber::backends::slurm {

namespace fs = std::filesystem;

namespace {

/// Returns the folders of sessions that were left behind. Times are those of the file
/// system, compared with a file that was touched just now.
std::vector<fs::path> left_folders(const SessionFolder& own) {
  std::error_code error;
  fs::path mine = own.path();
  own.touch();
  auto now = fs::last_write_time(mine / alive_file, error);
  std::vector<fs::path> left;
  for (auto& entry : fs::directory_iterator(mine.parent_path(), error)) {
    struct stat folder {};
    if (::lstat(entry.path().c_str(), &folder) != 0 || !S_ISDIR(folder.st_mode) ||
        folder.st_uid != ::geteuid())
      continue; // Another user's, who could name any of our sessions.
    auto alive = entry.path() / alive_file;
    auto touched = fs::last_write_time(alive, error);
    if (error || entry.path() == mine)
      continue;
    long lease = 0;
    fiber::detail::Classic<std::ifstream>(alive) >> lease;
    if (lease > 0 && now - touched > std::chrono::seconds(lease))
      left.push_back(entry.path());
  }
  return left;
}

} // namespace

std::string name_prefix(const std::string& session) {
  return "fiber-" + session + ".";
}

std::set<std::string> jobs_of(const std::string& rows, const std::string& session) {
  std::set<std::string> ids;
  fiber::detail::Classic<std::istringstream> lines(rows);
  for (std::string id, name; lines >> id && std::getline(lines >> std::ws, name);)
    if (name.starts_with(name_prefix(session)))
      ids.insert(id);
  return ids;
}

std::string user_id() {
  return std::to_string(::getuid());
}

void remove_strangers(Commands& commands, const SessionFolder& own) {
  auto left = left_folders(own);
  if (left.empty())
    return;
  auto told =
    commands.call({"squeue", "--noheader", "--user=" + user_id(), "--format=%F %j"});
  if (!told.ok()) {
    log().warn("slurm: can't look for what dead drivers have left: {}", told.problem());
    return;
  }
  for (auto& folder : left) {
    log().info("slurm: removing {}, of a driver that is gone", folder.string());
    auto ids = jobs_of(told.output, folder.filename().string());
    if (!ids.empty()) {
      std::vector<std::string> words{"scancel"};
      words.insert(words.end(), ids.begin(), ids.end());
      commands.call(std::move(words));
    }
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
}

} // namespace fiber::backends::slurm
