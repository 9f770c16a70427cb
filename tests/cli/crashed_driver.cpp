// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/crashed_driver.hpp"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

namespace fiber::cli {
namespace {

using nlohmann::json;

constexpr std::chrono::seconds driver_patience{100};
constexpr std::chrono::milliseconds look_every{50};

} // namespace

bool wait_for(const std::function<bool()>& condition) {
  auto end = std::chrono::steady_clock::now() + driver_patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end)
      return false;
    std::this_thread::sleep_for(look_every);
  }
  return true;
}

CrashedDriver::CrashedDriver(const Words& words, const std::string& text,
                             Variables variables) {
  folder_.write("out", "");
  std::filesystem::create_directory(folder_.path("run"));
  variables["XDG_RUNTIME_DIR"] = folder_.path("run");
  variables["FIBER_NAME"] = "crashed";
  // The folder of shell() does not last as long as the driver.
  auto command = "cd " + folder_.path("run") + "; exec </dev/null; " CLI_PROGRAM;
  for (auto& word : words)
    command += " " + word;
  pid_ = std::stoi(
    shell(command + " >" + folder_.path("out") + " 2>&1 & echo $!", variables).out);
  EXPECT_TRUE(wait_for([&] { return folder_.read("out").find(text) != text.npos; }))
    << folder_.read("out");
}

CrashedDriver::~CrashedDriver() {
  ::kill(pid_, SIGKILL);
}

void CrashedDriver::crash() const {
  ::kill(pid_, SIGKILL);
}

Outcome CrashedDriver::fiber(const Words& words, Variables variables) const {
  variables["XDG_RUNTIME_DIR"] = folder_.path("run");
  return fiber_command(words, variables);
}

json CrashedDriver::ps(const Variables& variables) const {
  auto outcome = fiber({"ps", "--json"}, variables);
  auto told = json::parse(outcome.out, nullptr, false);
  EXPECT_TRUE(told.is_array()) << outcome.err;
  auto own = json::array();
  for (auto& session : told)
    if (session["pid"] == pid_) // Others may run meanwhile, see socket_folders().
      own.push_back(session);
  return own;
}

json CrashedDriver::await(const std::function<bool(const json&)>& holds,
                          const Variables& variables) const {
  json seen;
  EXPECT_TRUE(wait_for([&] {
    auto list = ps(variables);
    seen = list.size() == 1 ? list[0] : json();
    return seen.is_object() && holds(seen);
  }))
    << seen;
  return seen;
}

std::string CrashedDriver::note() const {
  return "run/fiber/crashed." + std::to_string(pid_) + ".json";
}

std::string CrashedDriver::session() const {
  return json::parse(folder_.read(note()))["id"];
}

void CrashedDriver::lead_to(const std::string& backend,
                            const Variables& variables) const {
  auto changed = json::parse(folder_.read(note()));
  changed["backend"] = backend;
  changed["variables"] = variables;
  folder_.write(note(), changed.dump());
}

void CrashedDriver::make_older() const {
  auto changed = json::parse(folder_.read(note()));
  changed["process_started"] = changed["process_started"].get<std::uint64_t>() - 1;
  folder_.write(note(), changed.dump());
}

void CrashedDriver::add_note(const std::string& name, const std::string& backend,
                             const Variables& variables) const {
  auto other = json::parse(folder_.read(note()));
  other["name"] = name;
  other["process_started"] = 1;
  other["backend"] = backend;
  other["variables"] = variables;
  folder_.write("run/fiber/" + name + "." + std::to_string(pid_) + ".json", other.dump());
}

std::string CrashedDriver::files() const {
  std::string all;
  for (auto& entry : std::filesystem::directory_iterator(folder()))
    all += entry.path().filename().string() + "\n";
  return all;
}

} // namespace fiber::cli
