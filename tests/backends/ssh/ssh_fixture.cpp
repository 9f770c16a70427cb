// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/ssh/ssh_fixture.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <thread>

namespace fiber::backends {

namespace {

/// Shorter than a test, longer than a pause of a busy machine.
constexpr std::chrono::seconds lease{5};

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

/// Returns the words of a file of /proc, such as an environment.
std::vector<std::string> words_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');)
    words.push_back(word);
  return words;
}

/// Returns the names of all hosts.
std::vector<std::string> names() {
  return parts_of(clusters::ssh()->at("SSH_HOSTS"));
}

/// Returns whether a file of the home is part of a complete copy of a program.
bool is_copy(const std::string& file) {
  return file.starts_with(".cache/fiber/") && !file.starts_with(".cache/fiber/.");
}

} // namespace

BackendOptions ssh_options(const std::string& hosts) {
  BackendOptions options;
  options.values = {{"ssh_hosts", hosts},
                    {"ssh_command", clusters::ssh()->at("SSH_COMMAND")}};
  options.forward_output = false;
  options.lease = lease;
  return options;
}

std::unique_ptr<Backend> make_ssh_backend(const BackendOptions& options) {
  auto kind = std::ranges::find(backend_kinds(), "ssh", &BackendKind::name);
  if (kind == backend_kinds().end())
    throw std::logic_error("this build has no backend ssh");
  return kind->make(options);
}

BackendTraits ssh_traits() {
  return {.name = "ssh",
          .make =
            [] {
              auto options = ssh_options("fiber-a:16,fiber-b:16,fiber-d:16");
              options.lease = std::chrono::minutes(1);
              return make_ssh_backend(options);
            },
          .missing = [] { return clusters::ssh() ? "" : "no hosts are up"; },
          .links = false,
          .pages = false,
          .same_host = false};
}

bool soon(const std::function<bool()>& condition) {
  auto end = std::chrono::steady_clock::now() + lease + std::chrono::seconds(25);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end)
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // It starts processes.
  }
  return true;
}

void SshTest::SetUp() {
  if (!clusters::ssh())
    GTEST_SKIP() << "SKIPPED: no hosts are up";
}

void SshTest::TearDown() {
  if (!clusters::ssh())
    return;
  for (auto& name : names()) {
    EXPECT_TRUE(soon([&] { return processes(name).empty(); }))
      << "left on " << name << ":\n"
      << host("pids " + name);
    EXPECT_TRUE(soon([&] { return files(name).empty(); }))
      << "left on " << name << ": " << files(name).front();
  }
  EXPECT_TRUE(soon([] { return clients().empty(); })) << "an ssh is left";
  host("usual");
}

std::vector<int> SshTest::processes(const std::string& name) {
  std::vector<int> pids;
  for (auto& line : lines_of(host("pids " + name)))
    pids.push_back(std::stoi(line));
  return pids;
}

int SshTest::agent(const std::string& name) {
  auto pids = processes(name);
  std::ranges::sort(pids); // What it starts comes later, maybe with its environment.
  for (int pid : pids)
    for (auto& word : words_in("/proc/" + std::to_string(pid) + "/environ"))
      if (word.starts_with("FIBER_NODE=ssh-agent:"))
        return pid;
  return 0;
}

std::vector<std::string> SshTest::files(const std::string& name) {
  auto all = lines_of(host("files " + name));
  std::erase_if(all, is_copy);
  std::erase(all, ".bashrc"); // The test's own.
  return all;
}

std::vector<int> SshTest::clients() {
  const auto command = clusters::ssh()->at("SSH_COMMAND");
  const auto configuration = command.substr(command.rfind(' ') + 1);
  std::vector<int> pids;
  for (auto& entry : std::filesystem::directory_iterator("/proc")) {
    auto words = words_in(entry.path() / "cmdline");
    if (!words.empty() && words[0].find("ssh") != words[0].npos &&
        std::ranges::find(words, configuration) != words.end() &&
        !process_gone(std::stoi(entry.path().filename())))
      pids.push_back(std::stoi(entry.path().filename()));
  }
  return pids;
}

std::string SshTest::problem_of(const BackendOptions& options) {
  try {
    BackendTest test(make_ssh_backend(options));
    auto job = test.create("one", "exit 0");
    auto last = test.events.last(job.id);
    EXPECT_EQ(last.kind, JobEvent::Kind::failed) << last.detail;
    return last.detail;
  } catch (const EngineError& error) {
    return error.what();
  } catch (const SettingError& error) {
    return error.what();
  }
}

int drive(const std::string& hosts) {
  // Whoever starts a driver may leave descriptors open; the next ones have two digits.
  while (::open("/dev/null", O_RDONLY | O_CLOEXEC) < 10) {
  }
  auto backend = make_ssh_backend(ssh_options(hosts));
  backend->watch([](const JobEvent& event) {
    if (event.kind == JobEvent::Kind::started)
      std::cout << "started " << event.job << std::endl;
  });
  for (auto* name : {"one", "two", "three", "four"})
    backend->create(BackendTest::spec(name, "child\nstop\nlinger"));
  for (;;)
    ::pause();
}

} // namespace fiber::backends
