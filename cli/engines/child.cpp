// SPDX-License-Identifier: Apache-2.0
#include "cli/engines/child.hpp"

#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>

#include "base/unique_fd.hpp"
#include "fiber/error.hpp"

namespace fiber::cli {
namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (auto& word : words)
    all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

std::vector<std::string>
merged_environment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> all;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    std::string_view text = *entry;
    if (added.count(std::string(text.substr(0, text.find('=')))) == 0)
      all.emplace_back(text);
  }
  for (auto& [name, value] : added)
    all.push_back(name + "=" + value);
  return all;
}

UniqueFd memory_file() {
  UniqueFd file(::memfd_create("fiber-child", MFD_CLOEXEC));
  if (!file)
    throw std::system_error(errno, std::generic_category(), "memfd_create");
  return file;
}

std::string text_of(const UniqueFd& file) {
  struct stat status {};
  ::fstat(file.get(), &status);
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t at = 0;
  while (at < text.size()) {
    auto got =
      ::pread(file.get(), text.data() + at, text.size() - at, static_cast<off_t>(at));
    if (got <= 0)
      break;
    at += static_cast<std::size_t>(got);
  }
  text.resize(at);
  return text;
}

void write_all(const UniqueFd& file, std::string_view text) {
  while (!text.empty()) {
    auto put = ::write(file.get(), text.data(), text.size());
    if (put < 0)
      throw std::system_error(errno, std::generic_category(), "write");
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  ::lseek(file.get(), 0, SEEK_SET);
}

} // namespace

pid_t start_child(const std::vector<std::string>& command, const ChildOptions& options) {
  auto words = command;
  auto variables = merged_environment(options.environment);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  short flags = 0;
  if (options.mask != nullptr) {
    ::posix_spawnattr_setsigmask(&attributes, options.mask);
    flags |= POSIX_SPAWN_SETSIGMASK;
  }
  if (options.new_session)
    flags |= POSIX_SPAWN_SETSID;
  ::posix_spawnattr_setflags(&attributes, flags);
  const int wanted[] = {options.in, options.out, options.err};
  for (int fd = 0; fd < 3; ++fd)
    if (wanted[fd] >= 0)
      ::posix_spawn_file_actions_adddup2(&actions, wanted[fd], fd);
  pid_t child = 0;
  int error = ::posix_spawnp(&child, words.front().c_str(), &actions, &attributes,
                             pointers(words).data(), pointers(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0)
    throw Error("can't start " + command.front() + ": " +
                std::generic_category().message(error));
  return child;
}

int wait_for_child(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "waitpid");
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string output_of(const std::vector<std::string>& command, const std::string& input) {
  auto in = memory_file(), out = memory_file(), err = memory_file();
  write_all(in, input);
  auto child = start_child(command, {.in = in.get(), .out = out.get(), .err = err.get()});
  if (int code = wait_for_child(child); code != 0) {
    auto words = text_of(err);
    while (!words.empty() && words.back() == '\n')
      words.pop_back();
    throw Error(command.front() + " failed with exit code " + std::to_string(code) +
                (words.empty() ? "" : ": ") + words);
  }
  return text_of(out);
}

} // namespace fiber::cli
