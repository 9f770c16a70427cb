// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/detached_driver.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

namespace fiber::cli {
namespace {

using nlohmann::json;

void expect_has(const Outcome& outcome, const std::string& text) {
  EXPECT_NE(outcome.out.find(text), std::string::npos)
    << "no \"" << text << "\" in: " << outcome.out << outcome.err;
}

} // namespace

DetachedDriver::DetachedDriver(std::string name, Variables variables, bool hidden)
  : name_(std::move(name)), variables_(std::move(variables)), hidden_(hidden) {
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  Outcome last;
  while (std::chrono::steady_clock::now() < end) {
    last = fiber({"status", name_, "--json"});
    auto snapshot = json::parse(last.out, nullptr, false);
    if (last.code == 0 && snapshot.value("/pools/0/workers_up"_json_pointer, 0) == 1)
      return;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  ADD_FAILURE() << name_ << " has no worker: " << last.out << last.err;
}

Outcome DetachedDriver::fiber(const Words& words) const {
  if (!hidden_)
    return fiber_command(words, variables_);
  std::string command = "folder=/tmp/fiber-$(id -u); mkdir -p -m 700 $folder; unshare "
                        "--mount sh -c 'mount -t tmpfs -o mode=700 tmpfs '$folder' && "
                        "exec \"$@\"' sh " FIBER_COMMAND;
  for (auto& word : words)
    command += " '" + word + "'";
  return shell(command, variables_);
}

json DetachedDriver::listed() const {
  for (auto& one : json::parse(fiber({"ps", "--json"}).out, nullptr, false))
    if (one.value("name", "") == name_)
      return one;
  return nullptr;
}

void DetachedDriver::expect_seen(const std::string& backend,
                                 const std::string& place) const {
  auto one = listed();
  ASSERT_TRUE(one.is_object()) << fiber({"ps"}).out << fiber({"ps"}).err;
  EXPECT_EQ(one["backend"], backend);
  EXPECT_TRUE(one["place"].get<std::string>().starts_with(place)) << one;
  EXPECT_EQ(one["answers"], true);
  EXPECT_EQ(one["workers_up"], 1);
  expect_has(fiber({"ps"}), place);
  EXPECT_EQ(fiber({"ps", "--here"}).out.find(name_), std::string::npos);
  expect_has(fiber({"status", name_}), "pool1");
  expect_has(fiber({"top", "--once", name_}), "pool1");
  auto logs = fiber({"logs", name_});
  EXPECT_EQ(logs.code, 0) << logs.err;
  EXPECT_EQ(fiber({"logs", name_, "driver"}).out, "waiting 2\n");
  TestFolder folder;
  auto report = fiber({"report", name_, "-o", folder.path("run.html")});
  EXPECT_EQ(report.code, 0) << report.err;
  EXPECT_NE(folder.read("run.html").find("cli_run_program"), std::string::npos);
  auto trace = fiber({"trace", name_});
  EXPECT_EQ(trace.code, 1);
  EXPECT_NE(trace.err.find("FIBER_TRACE=FILE"), std::string::npos) << trace.err;
}

void DetachedDriver::end_by(const std::string& verb) const {
  // Part of the name must not do.
  auto part = fiber({verb, name_.substr(0, name_.size() - 1)});
  EXPECT_EQ(part.code, 1) << part.out;
  EXPECT_NE(part.err.find("give its whole name"), std::string::npos) << part.err;
  auto ended = fiber({verb, name_});
  EXPECT_EQ(ended.code, 0) << ended.err;
  expect_has(ended, verb == "stop" ? "has ended, and with it 1 job"
                                   : "was killed, and with it 1 job");
  if (verb == "stop") { // Its log outlives it.
    auto log = fiber({"logs", name_, "driver"});
    EXPECT_EQ(log.out, "waiting 2\n") << log.err;
  }
}

void DetachedDriver::expect_unlisted() const {
  EXPECT_TRUE(listed().is_null()) << listed();
}

} // namespace fiber::cli
