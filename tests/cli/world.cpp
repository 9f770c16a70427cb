// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/world.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fiber::cli {
namespace {

using namespace std::chrono_literals;

/// Runs a program in a child and returns its pid. Its output goes to these descriptors.
pid_t run(const std::vector<std::string>& words, const Driver::Variables& variables,
          int out, int errors) {
  auto pid = ::fork();
  if (pid != 0)
    return pid;
  for (auto& [name, value] : variables)
    ::setenv(name.c_str(), value.c_str(), 1);
  if (out >= 0)
    ::dup2(out, STDOUT_FILENO);
  if (errors >= 0)
    ::dup2(errors, STDERR_FILENO);
  std::vector<char*> arguments;
  for (auto& word : words)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execv(arguments.front(), arguments.data());
  ::_exit(127);
}

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

bool wait_until(const std::function<bool()>& condition) {
  auto end = std::chrono::steady_clock::now() + 60s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end)
      return false;
    std::this_thread::sleep_for(20ms);
  }
  return true;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

Driver::Driver(const std::vector<std::string>& arguments, const Variables& variables) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0)
    throw std::runtime_error("no pipe");
  std::vector<std::string> words{CLI_DRIVER};
  words.insert(words.end(), arguments.begin(), arguments.end());
  pid_ = run(words, variables, pipe[1], -1);
  ::close(pipe[1]);
  output_ = pipe[0];
  std::string line;
  for (char c = 0; line != "ready" && ::read(output_, &c, 1) == 1;)
    line = c == '\n' ? "" : line + c;
  EXPECT_EQ(line, "ready");
}

Driver::~Driver() {
  if (!ended_) {
    ::kill(pid_, SIGKILL);
    await_end();
  }
  ::close(output_);
}

void Driver::send(int signal) const {
  ::kill(pid_, signal);
}

int Driver::await_end() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  ended_ = true;
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

void World::SetUp() {
  char path[] = "/tmp/fiber-cli-XXXXXX";
  ASSERT_NE(::mkdtemp(path), nullptr);
  root_ = path;
}

void World::TearDown() {
  drivers_.clear();
  std::filesystem::remove_all(root_);
}

Driver& World::start(const std::string& name, const std::vector<std::string>& arguments,
                     Driver::Variables variables) {
  variables.insert({{"XDG_RUNTIME_DIR", root_},
                    {"FIBER_BACKEND", "local"},
                    {"FIBER_FORWARD_OUTPUT", "off"}});
  if (!name.empty())
    variables["FIBER_NAME"] = name;
  drivers_.push_back(std::make_unique<Driver>(arguments, variables));
  return *drivers_.back();
}

Result World::fiber(const std::vector<std::string>& arguments) const {
  std::vector<std::string> words{FIBER_COMMAND};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return execute(words);
}

Result World::with_squatted_folder(const std::vector<std::string>& words) const {
  constexpr uid_t nobody = 65534;
  auto squat = root_ + "/squat", usual = "/tmp/fiber-" + std::to_string(::geteuid());
  std::filesystem::create_directory(squat);
  EXPECT_EQ(::chown(squat.c_str(), nobody, nobody), 0);
  std::vector<std::string> all{"/usr/bin/unshare",
                               "--mount",
                               "/bin/sh",
                               "-c",
                               "mkdir -p -m 700 " + usual + "; mount --bind " + squat +
                                 " " + usual + " && exec \"$@\"",
                               "sh"};
  all.insert(all.end(), words.begin(), words.end());
  return execute(all);
}

nlohmann::json World::ps() const {
  auto list = nlohmann::json::array();
  for (auto& session : fiber({"ps", "--json"}).json())
    if (std::any_of(drivers_.begin(), drivers_.end(),
                    [&](auto& driver) { return session["pid"] == driver->pid(); }))
      list.push_back(session);
  return list;
}

Result World::relay(const std::string& request) const {
  return execute({CLI_DRIVER, "--fiber-relay", request});
}

Result World::execute(const std::vector<std::string>& words) const {
  auto out = root_ + "/out", errors = root_ + "/errors";
  auto open = [](const std::string& path) {
    return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  };
  auto out_file = open(out), errors_file = open(errors);
  auto pid = run(words, {{"XDG_RUNTIME_DIR", root_}}, out_file, errors_file);
  ::close(out_file);
  ::close(errors_file);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(out), content(errors)};
}

std::vector<std::string> World::sockets() const {
  std::vector<std::string> files;
  std::error_code none;
  for (auto& entry : std::filesystem::directory_iterator(folder(), none))
    if (entry.path().extension() == ".sock")
      files.push_back(entry.path().string());
  return files;
}

} // namespace fiber::cli
