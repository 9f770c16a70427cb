// SPDX-License-Identifier: Apache-2.0
#include "libfiber/observer/session_note.hpp"

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <spdlog/fmt/chrono.h>
#include <spdlog/fmt/fmt.h>

#include "base/random_id.hpp"
#include "base/unique_fd.hpp"
#include "fiber/detail/classic_locale.hpp"
#include "libfiber/observer/process_stat.hpp"
#include "libfiber/observer/socket_folder.hpp"

namespace fiber::observer {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr auto note_suffix = ".json";

json json_of(const SessionNote& note) {
  return {{"name", note.name},       {"pid", note.pid},
          {"id", note.id},           {"process_started", note.process_started},
          {"backend", note.backend}, {"program", note.program},
          {"started", note.started}, {"variables", note.variables}};
}

bool is_alive(const SessionNote& note) {
  auto stat = stat_of(note.pid);
  return stat && stat->state != 'Z' && stat->started == note.process_started;
}

} // namespace

SessionNote own_note(const std::string& name) {
  std::error_code none;
  auto stat = stat_of(::getpid());
  SessionNote note{
    .name = name,
    .pid = ::getpid(),
    .process_started = stat ? stat->started : 0,
    .id = random_id(),
    .backend = {},
    .program = fs::read_symlink("/proc/self/exe", none).string(),
    .started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))),
    .variables = {}};
  for (auto* variable : engine_variables)
    if (const char* value = std::getenv(variable))
      note.variables[variable] = value;
  return note;
}

NoteFile::NoteFile(const std::string& folder, const SessionNote& note)
  : path_(folder + "/" + note.name + "." + std::to_string(note.pid) + note_suffix) {
  auto text = json_of(note).dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  UniqueFd file(
    ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file || ::write(file.get(), text.data(), text.size()) !=
                 static_cast<ssize_t>(text.size())) {
    auto why = std::generic_category().message(errno);
    ::unlink(path_.c_str());
    throw std::runtime_error(path_ + ": " + why);
  }
}

NoteFile::~NoteFile() {
  ::unlink(path_.c_str());
}

std::string note_beside(const std::string& socket) {
  return fs::path(socket).replace_extension(note_suffix).string();
}

std::optional<SessionNote> read_note(const std::string& path) {
  try {
    auto told = json::parse(fiber::detail::Classic<std::ifstream>(path));
    SessionNote note{.name = told.at("name"),
                     .pid = told.at("pid"),
                     .process_started = told.at("process_started"),
                     .id = told.at("id"),
                     .backend = told.at("backend"),
                     .program = told.at("program"),
                     .started = told.at("started"),
                     .variables = told.at("variables")};
    bool usable = is_name(note.name) && is_name(note.id) && note.pid > 0;
    return usable ? std::optional(std::move(note)) : std::nullopt;
  } catch (const json::exception&) { // It is being written, or is another's.
    return std::nullopt;
  }
}

std::vector<LeftNote> left_notes(const std::string& folder) {
  std::vector<LeftNote> left;
  std::error_code none;
  for (auto& entry : fs::directory_iterator(folder, none))
    if (entry.path().extension() == note_suffix)
      if (auto note = read_note(entry.path().string()); note && !is_alive(*note))
        left.push_back({std::move(*note), entry.path().string()});
  return left;
}

} // namespace fiber::observer
