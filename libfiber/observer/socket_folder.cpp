// SPDX-License-Identifier: Apache-2.0
#include "libfiber/observer/socket_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <tuple>

#include <sys/stat.h>
#include <unistd.h>

namespace fiber::observer {
namespace {

constexpr std::size_t max_name = 40;
constexpr std::string_view suffix = ".sock";
constexpr mode_t private_mode = 0700;

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         c == '.' || c == '_' || c == '-';
}

std::string message(int error) {
  return std::generic_category().message(error);
}

} // namespace

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= max_name && text.front() != '.' &&
         text.front() != '-' && std::ranges::all_of(text, is_name_char);
}

std::string default_name() {
  std::error_code none;
  auto program =
    std::filesystem::read_symlink("/proc/self/exe", none).filename().string();
  auto pid = std::to_string(::getpid());
  program.resize(std::min(program.size(), max_name - pid.size() - 1));
  std::ranges::replace_if(
    program, [](char c) { return !is_name_char(c); }, '_');
  if (program.empty() || program.front() == '.' || program.front() == '-')
    program = "program";
  return program + "-" + pid;
}

std::vector<std::string> socket_folders() {
  std::vector<std::string> folders;
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR");
      runtime != nullptr && *runtime == '/')
    folders.push_back(std::string(runtime) + "/fiber");
  folders.push_back("/tmp/fiber-" + std::to_string(::geteuid()));
  return folders;
}

std::string folder_problem(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0)
    return errno == ENOENT ? std::string(missing) : message(errno);
  if (S_ISLNK(status.st_mode))
    return "it is a symbolic link";
  if (!S_ISDIR(status.st_mode))
    return "it is no directory";
  if (status.st_uid != ::geteuid())
    return "it belongs to user " + std::to_string(status.st_uid);
  if ((status.st_mode & 077) != 0)
    return "others can enter it; its mode must be 0700";
  return {};
}

void make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), private_mode) != 0 && errno != EEXIST)
    throw std::runtime_error(path + ": " + message(errno));
  if (auto problem = folder_problem(path); !problem.empty())
    throw std::runtime_error(path + ": " + problem);
}

std::string make_session_folder() {
  std::string problems;
  for (auto& folder : socket_folders())
    try {
      make_folder(folder);
      return folder;
    } catch (const std::runtime_error& error) {
      problems += (problems.empty() ? "" : "; ") + std::string(error.what());
    }
  throw std::runtime_error(problems);
}

std::string socket_path(const std::string& folder, const std::string& name, pid_t pid) {
  return folder + "/" + name + "." + std::to_string(pid) + std::string(suffix);
}

std::vector<SocketFile> sockets_in(const std::string& folder) {
  std::vector<SocketFile> found;
  std::error_code none;
  for (auto& entry : std::filesystem::directory_iterator(folder, none)) {
    auto file = entry.path().filename().string();
    if (!file.ends_with(suffix))
      continue;
    auto stem = std::string_view(file).substr(0, file.size() - suffix.size());
    auto dot = stem.rfind('.');
    if (dot == stem.npos || !is_name(stem.substr(0, dot)))
      continue;
    SocketFile socket{std::string(stem.substr(0, dot)), 0, entry.path().string()};
    auto [rest, error] =
      std::from_chars(stem.data() + dot + 1, stem.data() + stem.size(), socket.pid);
    if (error == std::errc() && rest == stem.data() + stem.size() && socket.pid > 0)
      found.push_back(std::move(socket));
  }
  std::ranges::sort(found, {}, [](auto& each) { return std::tie(each.name, each.pid); });
  return found;
}

} // namespace fiber::observer
