// SPDX-License-Identifier: Apache-2.0
#include "rl/poet/report.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "fiber/rl/detail/formatted.hpp"

namespace fiber::rl::poet {
namespace {

/// The shortest decimal form that reads back as the same number.
template <class Number>
std::string exactly(Number number) {
  std::array<char, 64> buffer;
  const auto end =
    std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  return {buffer.data(), end};
}

std::string name_of(Event::What what) {
  switch (what) {
  case Event::What::start:
    return "start";
  case Event::What::admitted:
    return "admitted";
  case Event::What::transfer:
    return "transfer";
  case Event::What::retired:
    return "retired";
  }
  return {};
}

std::string id_or_nothing(std::uint64_t id) {
  return id == 0 ? "" : exactly(id);
}

std::string columns_of(const EnvironmentParameters& parameters) {
  std::string row = exactly(parameters.roughness);
  for (const auto& range :
       {parameters.pit_gap, parameters.stump_height, parameters.stump_width,
        parameters.stump_float, parameters.stair_height, parameters.stair_width})
    row += "," + exactly(range.least) + "," + exactly(range.most);
  return row + "," + exactly(parameters.stair_steps);
}

using detail::formatted;

std::string name_of_environment(std::uint64_t id) {
  return id == 0 ? "-" : "E" + std::to_string(id);
}

std::string share(const Attempts& attempts, const char* kind) {
  return formatted("%llu of %llu %s", static_cast<unsigned long long>(attempts.succeeded),
                   static_cast<unsigned long long>(attempts.tried), kind);
}

} // namespace

std::string name_of(Way way) {
  return way == Way::direct ? "direct" : way == Way::proposal ? "proposal" : "";
}

std::string returns_csv(const PoetState& state) {
  std::string csv = "iteration,environment,return,best_candidate,sigma,learning_rate\n";
  for (const auto& point : state.curve)
    csv += exactly(point.iteration) + "," + exactly(point.environment) + "," +
           exactly(point.score) + "," + exactly(point.best) + "," + exactly(point.sigma) +
           "," + exactly(point.learning_rate) + "\n";
  return csv;
}

std::string events_csv(const PoetState& state) {
  std::string csv =
    "iteration,event,environment,parent,agent_from,way,return_before,return_after,"
    "roughness,pit_least,pit_most,stump_least,stump_most,stump_width_least,"
    "stump_width_most,stump_float_least,stump_float_most,stair_least,stair_most,"
    "stair_width_least,stair_width_most,stair_steps\n";
  for (const auto& event : state.events) {
    const bool scored = event.what != Event::What::start;
    csv += exactly(event.iteration) + "," + name_of(event.what) + "," +
           exactly(event.environment) + "," + id_or_nothing(event.parent) + "," +
           id_or_nothing(event.agent) + "," + name_of(event.way) + "," +
           (scored ? exactly(event.before) + "," + exactly(event.after) : ",") + "," +
           columns_of(event.parameters) + "\n";
  }
  return csv;
}

std::string pairs_table(const PoetState& state) {
  std::string table = "environment  parent  since  return  terrain\n";
  for (const auto& pair : state.pairs) {
    const auto birth = std::ranges::find_if(state.events, [&](const Event& event) {
      return event.environment == pair.niche.id &&
             (event.what == Event::What::start || event.what == Event::What::admitted);
    });
    const bool known = birth != state.events.end();
    table +=
      formatted("%-11s  %-6s  %5llu  %6.1f  ", name_of_environment(pair.niche.id).c_str(),
                name_of_environment(known ? birth->parent : 0).c_str(),
                static_cast<unsigned long long>(known ? birth->iteration : 0),
                pair.score) +
      describe(pair.niche.parameters) + "\n";
  }
  return table;
}

std::string transfers_table(const PoetState& state, std::size_t most) {
  std::vector<const Event*> transfers;
  for (const auto& event : state.events)
    if (event.what == Event::What::transfer)
      transfers.push_back(&event);
  const auto skipped = transfers.size() - std::min(transfers.size(), most);
  std::string table = "iteration  from  to    way       before   after\n";
  if (skipped > 0)
    table += formatted("  (%zu earlier ones are in events.csv)\n", skipped);
  for (auto i = skipped; i < transfers.size(); ++i) {
    const auto& event = *transfers[i];
    table += formatted("%9llu  %-4s  %-4s  %-8s  %6.1f  %6.1f\n",
                       static_cast<unsigned long long>(event.iteration),
                       name_of_environment(event.agent).c_str(),
                       name_of_environment(event.environment).c_str(),
                       name_of(event.way).c_str(), event.before, event.after);
  }
  return table + "transfers: " + share(state.direct, "direct") + ", " +
         share(state.proposals, "proposals") + "\n";
}

} // namespace fiber::rl::poet
