// SPDX-License-Identifier: Apache-2.0
#include "backends/slurm/session_folder.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <exception>
#include <sstream>
#include <utility>

#include "backends/backend.hpp"
#include "backends/engine/errors.hpp"
#include "backends/engine/program.hpp"
#include "base/trusted_file.hpp"
#include "fiber/detail/classic_locale.hpp"

namespace fiber::backends::slurm {

namespace fs = std::filesystem;

namespace {

constexpr mode_t only_user = 0700;
constexpr auto driver_file = "driver";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

void make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), only_user) != 0)
    throw engine_error("make the session's folder " + path, errno);
}

} // namespace

SessionFolder::SessionFolder(const std::string& base, std::string session,
                             std::chrono::seconds lease)
  : session_(std::move(session)), path_(base + "/" + session_) {
  std::error_code error;
  fs::create_directories(base, error);
  if (error)
    throw EngineError("make the folder " + base, error.value(),
                      error.message() + "; set slurm_directory to a folder on a file "
                                        "system that all nodes share");
  check_private_names(base, "set slurm_directory to a folder that is yours alone");
  make_folder(path_);
  write_private(path_ + "/" + alive_file, std::to_string(lease.count()) + "\n");
}

void SessionFolder::touch() const {
  ::utimensat(AT_FDCWD, (path_ + "/" + alive_file).c_str(), nullptr, 0);
}

std::string SessionFolder::add(const std::string& name) const {
  auto path = path_ + "/" + name;
  make_folder(path);
  return path;
}

void SessionFolder::remove() const {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

DriverNote own_note() {
  char host[HOST_NAME_MAX + 1] = {};
  ::gethostname(host, sizeof host - 1);
  auto array = variable("SLURM_ARRAY_JOB_ID");
  return {.host = host,
          .pid = std::to_string(::getpid()),
          .job = array.empty() ? variable("SLURM_JOB_ID") : array,
          .program = program_path()};
}

void write_driver_note(const SessionFolder& folder, const DriverNote& note) {
  write_private(folder.path() + "/" + driver_file, note.host + "\n" + note.pid + "\n" +
                                                     note.job + "\n" + note.program +
                                                     "\n");
}

std::optional<DriverNote> read_driver_note(const std::string& folder) {
  fiber::detail::Classic<std::istringstream> file;
  try { // Whoever writes the note says which process and job are to be ended.
    file.str(read_trusted(folder + "/" + driver_file).value_or(""));
  } catch (const std::exception&) {
    return {};
  }
  DriverNote note;
  for (auto* line : {&note.host, &note.pid, &note.job, &note.program})
    if (!std::getline(file, *line))
      return {};
  return note;
}

std::string usual_base() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache == '/')
    return std::string(cache) + "/fiber/slurm";
  const char* home = std::getenv("HOME");
  if (!home || *home != '/') {
    auto* user = ::getpwuid(::getuid());
    home = user ? user->pw_dir : nullptr;
  }
  if (!home || *home != '/')
    throw EngineError("find a folder that all nodes share", 0,
                      "this user has no home directory; set slurm_directory");
  return std::string(home) + "/.cache/fiber/slurm";
}

void write_private(const std::string& path, std::string_view text) {
  UniqueFd file(
    ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file)
    throw engine_error("write " + path, errno);
  while (!text.empty()) {
    ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      throw engine_error("write " + path, errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::close(file.release()) != 0) // A network file system reports a full disk here.
    throw engine_error("write " + path, errno);
}

bool file_exists(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file || errno != ENOENT;
}

} // namespace fiber::backends::slurm
