// SPDX-License-Identifier: Apache-2.0
#include "cli/remote.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "cli/engines/engine.hpp"
#include "fiber/error.hpp"
#include "libfiber/observer/relay.hpp"

namespace fiber::cli {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto no_answer = "no answer in ";
constexpr milliseconds end_limit{20000}, end_interval{200}, output_limit{60000};

json json_of(const RemoteDriver& driver) {
  return {{"engine", driver.engine},   {"name", driver.name},
          {"id", driver.id},           {"place", driver.place},
          {"program", driver.program}, {"ended", driver.ended}};
}

RemoteDriver driver_of(const json& told) {
  return {.engine = told.at("engine"),
          .name = told.at("name"),
          .id = told.at("id"),
          .place = told.at("place"),
          .program = told.at("program"),
          .ended = told.at("ended")};
}

HelperProcess question(const RemoteDriver& driver, const json& request) {
  return HelperProcess([&] {
    auto& tools = *engine_called(driver.engine).drivers;
    return json::parse(
      tools.run_beside(driver, {observer::relay_option, request.dump()}));
  });
}

/// Returns {"drivers": [...]}, each with its "reply" if they are asked for snapshots.
json look(const DriverTools& tools, RemoteLookup::Kind kind, milliseconds limit) {
  HelperProcess listing([&] {
    json list = json::array();
    for (auto& driver : tools.list(kind == RemoteLookup::Kind::ended_too))
      list.push_back(json_of(driver));
    return json{{"drivers", list}};
  });
  auto told = listing.read(Clock::now() + limit, limit);
  if (kind != RemoteLookup::Kind::snapshots || told.contains("problem"))
    return told;
  std::vector<HelperProcess> questions; // One that hangs delays no other.
  for (auto& driver : told["drivers"])
    questions.push_back(question(driver_of(driver), {{"op", "status"}}));
  auto end = Clock::now() + relay_limit;
  for (std::size_t i = 0; i < questions.size(); ++i)
    told["drivers"][i]["reply"] = questions[i].read(end, relay_limit);
  return told;
}

} // namespace

bool SilentEngine::hangs() const {
  return problem.starts_with(no_answer);
}

RemoteLookup::RemoteLookup(Kind kind, milliseconds limit)
  : patience_(limit + 2 * relay_limit) {
  for (auto& engine : engine_tools())
    if (engine.drivers != nullptr && !engine.detect().empty())
      questions_.push_back({engine.name, HelperProcess([&engine, kind, limit] {
                              return look(*engine.drivers, kind, limit);
                            })});
}

RemoteSessions RemoteLookup::read() {
  RemoteSessions all;
  auto end = Clock::now() + patience_;
  for (auto& [engine, helper] : questions_) {
    auto told = helper.read(end, patience_);
    if (auto problem = told.find("problem"); problem != told.end())
      all.silent.push_back({.name = engine, .problem = *problem});
    for (auto& entry : told.value("drivers", json::array())) {
      auto reply = entry.find("reply");
      bool answered = reply != entry.end() && reply->contains("session");
      all.sessions.push_back(
        {.driver = driver_of(entry),
         .snapshot = answered ? std::optional(std::move(*reply)) : std::nullopt});
    }
  }
  std::ranges::stable_sort(all.sessions, {}, [](auto& each) { return each.driver.name; });
  return all;
}

json ask_remote(const RemoteDriver& driver, const json& request, milliseconds limit) {
  return question(driver, request).read(Clock::now() + limit, limit);
}

std::string output_of_driver(const RemoteDriver& driver) {
  HelperProcess helper([&] {
    return json{{"text", engine_called(driver.engine).drivers->output(driver)}};
  });
  auto told = helper.read(Clock::now() + output_limit, output_limit);
  if (auto problem = told.find("problem"); problem != told.end())
    throw Error(problem->get<std::string>());
  return told.value("text", "");
}

bool driver_has_ended(const RemoteDriver& driver) {
  HelperProcess helper([&] {
    return json{{"ended", engine_called(driver.engine).drivers->has_ended(driver)}};
  });
  return helper.read(Clock::now() + end_limit, end_limit).value("ended", false);
}

bool await_end(const RemoteDriver& driver, milliseconds limit) {
  for (auto end = Clock::now() + limit; !driver_has_ended(driver);
       std::this_thread::sleep_for(end_interval))
    if (Clock::now() >= end)
      return false;
  return true;
}

void kill_driver(const RemoteDriver& driver) {
  engine_called(driver.engine).drivers->kill(driver);
}

} // namespace fiber::cli
