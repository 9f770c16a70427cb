// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/command.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fiber::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds command_patience{100};
constexpr uid_t nobody = 65534;

fs::path new_folder() {
  auto pattern = (fs::temp_directory_path() / "fiber-cli-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr)
    throw std::runtime_error("mkdtemp");
  fs::permissions(pattern, fs::perms(0755));
  return pattern;
}

std::string read_file(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::vector<std::string> environment(const Variables& added) {
  std::vector<std::string> all;
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    std::string text = *entry;
    auto name = text.substr(0, text.find('='));
    if (!name.starts_with("FIBER_") && added.count(name) == 0)
      all.push_back(text);
  }
  for (auto& [name, value] : added)
    all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (auto& word : words)
    all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

[[noreturn]] void become(std::vector<std::string> words, const fs::path& folder,
                         std::vector<std::string> variables, bool as_nobody) {
  auto open_as = [&](const char* name, int fd) {
    int file = ::open((folder / name).c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    ::dup2(file, fd);
  };
  open_as("out", 1);
  open_as("err", 2);
  if (::chdir(folder.c_str()) != 0)
    ::_exit(126);
  if (as_nobody &&
      (::setgroups(0, nullptr) != 0 || ::setgid(nobody) != 0 || ::setuid(nobody) != 0))
    ::_exit(126);
  ::execve(words.front().c_str(), pointers(words).data(), pointers(variables).data());
  ::_exit(127);
}

} // namespace

Command::Command(const Words& arguments, const Variables& variables, bool as_nobody)
  : folder_(new_folder()) {
  std::string program = FIBER_COMMAND;
  if (as_nobody) { // Who may not enter the build folder.
    fs::copy_file(program, folder_ / "fiber");
    program = (folder_ / "fiber").string();
  }
  Words words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  auto all = environment(variables);
  child_ = ::fork();
  if (child_ == 0)
    become(std::move(words), folder_, std::move(all), as_nobody);
}

Command::~Command() {
  if (child_ > 0) {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string Command::output(const char* name) const {
  return read_file(folder_ / name);
}

bool Command::says(const std::string& text) {
  auto end = std::chrono::steady_clock::now() + command_patience;
  while (std::chrono::steady_clock::now() < end) {
    if ((output("out") + output("err")).find(text) != std::string::npos)
      return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

void Command::signal(int number) const {
  ::kill(child_, number);
}

Outcome Command::wait() {
  int status = 0;
  while (::waitpid(child_, &status, 0) < 0 && errno == EINTR)
    ;
  child_ = 0;
  return {.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status),
          .out = output("out"),
          .err = output("err")};
}

Outcome fiber_command(const Words& arguments, const Variables& variables) {
  return Command(arguments, variables).wait();
}

Outcome shell(const std::string& command, const Variables& variables) {
  auto folder = new_folder();
  auto all = environment(variables);
  auto child = ::fork();
  if (child == 0)
    become({"/bin/sh", "-c", command}, folder, std::move(all), false);
  int status = 0;
  ::waitpid(child, &status, 0);
  Outcome outcome{.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128,
                  .out = read_file(folder / "out"),
                  .err = read_file(folder / "err")};
  fs::remove_all(folder);
  return outcome;
}

void expect_last_trouble(const Outcome& outcome, const std::string& name,
                         const std::string& problem, const std::string& advice) {
  EXPECT_EQ(outcome.code, 1);
  auto told = nlohmann::json::parse(outcome.out, nullptr, false);
  if (!told.is_object())
    FAIL() << outcome.out << outcome.err;
  auto& last = told["checks"].back();
  EXPECT_EQ(last["check"], name) << told;
  EXPECT_EQ(last["state"], "FAIL") << told;
  EXPECT_NE(std::string(last["detail"]).find(problem), std::string::npos) << last;
  EXPECT_NE(std::string(last["advice"]).find(advice), std::string::npos) << last;
}

TestFolder::TestFolder() : folder_(new_folder()) {}

TestFolder::~TestFolder() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void TestFolder::write(const std::string& name, const std::string& text) const {
  fs::create_directories((folder_ / name).parent_path());
  std::ofstream(folder_ / name, std::ios::binary) << text;
}

std::string TestFolder::read(const std::string& name) const {
  return read_file(folder_ / name);
}

} // namespace fiber::cli
