// SPDX-License-Identifier: Apache-2.0
#include "actors/share/share_spread.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"

namespace fiber::actors {

ShareSpread::Steps ShareSpread::wanted(const Job& job, std::uint64_t machine) {
  Steps steps;
  auto [known, is_first] = copies_.try_emplace(machine);
  auto& copy = known->second;
  if (is_first) {
    copy.holder = job;
    advance(steps);
  } else if (copy.place.fd >= 0) {
    steps.push_back({.op = Op::share_mapped, .to = job, .place = copy.place});
  } else {
    copy.waiting.push_back(job);
    ask_for_memory(copy, steps);
  }
  return steps;
}

ShareSpread::Steps ShareSpread::failed(const Job& job) {
  Steps steps;
  auto* copy = copy_of(job.incarnation);
  if (copy == nullptr || copy->arrived)
    steps.push_back({.op = Op::shared, .to = job}); // It could not map the memory.
  else if (copy->way == Copy::Way::passed)
    fail(*copy, steps);
  return steps; // Otherwise the value is on its way from the driver.
}

ShareSpread::Steps ShareSpread::arrived(std::uint64_t incarnation) {
  Steps steps;
  auto* copy = copy_of(incarnation);
  if (copy == nullptr || std::exchange(copy->arrived, true))
    return steps;
  if (copy->way == Copy::Way::passed)
    ++passing_.done;
  free_source(*copy);
  if (!copy->waiting.empty())
    ask_for_memory(*copy, steps);
  advance(steps);
  return steps;
}

ShareSpread::Steps ShareSpread::placed(const MemoryPlace& place,
                                       std::uint64_t incarnation) {
  Steps steps;
  auto* copy = copy_of(incarnation);
  if (copy == nullptr || !copy->asked)
    return steps;
  for (auto& job : std::exchange(copy->waiting, {}))
    if (place.fd >= 0)
      steps.push_back({.op = Op::share_mapped, .to = job, .place = place});
    else
      steps.push_back({.op = Op::shared, .to = job});
  copy->place = place;
  copy->asked = place.fd >= 0; // If there was no memory now, there may be later.
  return steps;
}

ShareSpread::Steps ShareSpread::listens(std::uint64_t incarnation, const PeerCall& call,
                                        const std::string& link_host) {
  Steps steps;
  auto* copy = copy_of(call.peer);
  if (copy == nullptr || copy->arrived || copy->way != Copy::Way::passed ||
      copy->from != incarnation || copy->secret != call.secret)
    return steps; // A late answer.
  if (auto answer = call_to_dial(incarnation, call, link_host))
    steps.push_back({.op = Op::peer_dial, .to = copy->holder, .call = *answer});
  else
    fail(*copy, steps);
  return steps;
}

ShareSpread::Steps ShareSpread::gone(std::uint64_t incarnation) {
  Steps steps;
  for (auto each = copies_.begin(); each != copies_.end();) {
    auto& copy = each->second;
    if (copy.holder.incarnation == incarnation) {
      free_source(copy);
      // None becomes the holder: it may be gone as well.
      for (auto& job : copy.waiting)
        steps.push_back({.op = Op::shared, .to = job});
      each = copies_.erase(each);
      continue;
    }
    if (copy.from == incarnation && !copy.arrived)
      send(copy, steps);
    std::erase_if(copy.waiting,
                  [&](auto& job) { return job.incarnation == incarnation; });
    ++each;
  }
  advance(steps);
  return steps;
}

/// Lets the jobs that wait get the value, as far as that is possible now.
void ShareSpread::advance(Steps& steps) {
  auto sent = static_cast<std::size_t>(std::ranges::count_if(
    copies_, [](auto& copy) { return copy.second.way == Copy::Way::sent; }));
  auto source = copies_.begin();
  for (auto& [machine, copy] : copies_) {
    if (copy.way != Copy::Way::undecided)
      continue;
    if (!passed_on_ || !passing_.works() || sent < most_sent) {
      send(copy, steps);
      ++sent;
      continue;
    }
    source = std::find_if(source, copies_.end(), [](auto& other) {
      return other.second.arrived && !other.second.passes_on;
    });
    if (source == copies_.end())
      return;
    introduce(source->second, copy, steps);
  }
}

void ShareSpread::send(Copy& copy, Steps& steps) {
  copy.way = Copy::Way::sent;
  copy.from = 0;
  steps.push_back({.op = Op::shared, .to = copy.holder});
}

void ShareSpread::introduce(Copy& source, Copy& copy, Steps& steps) {
  source.passes_on = true;
  copy.way = Copy::Way::passed;
  copy.from = source.holder.incarnation;
  copy.secret = fresh_secret();
  steps.push_back({.op = Op::peer_listen,
                   .to = source.holder,
                   .call = {.to = copy.from,
                            .peer = copy.holder.incarnation,
                            .secret = copy.secret,
                            .share = id_}});
}

void ShareSpread::ask_for_memory(Copy& copy, Steps& steps) {
  if (copy.arrived && !std::exchange(copy.asked, true))
    steps.push_back({.op = Op::share_memory, .to = copy.holder});
}

void ShareSpread::fail(Copy& copy, Steps& steps) {
  const auto worked = passing_.works();
  ++passing_.failed;
  if (worked && !passing_.works())
    log().info("jobs can't reach each other: the driver sends large shared values to "
               "each machine");
  free_source(copy);
  send(copy, steps);
  advance(steps);
}

ShareSpread::Copy* ShareSpread::copy_of(std::uint64_t holder) {
  auto known = std::ranges::find_if(
    copies_, [&](auto& copy) { return copy.second.holder.incarnation == holder; });
  return known == copies_.end() ? nullptr : &known->second;
}

/// The job that passed the value on to this one may now pass it on to another.
void ShareSpread::free_source(const Copy& copy) {
  if (copy.way != Copy::Way::passed)
    return;
  if (auto* source = copy_of(copy.from))
    source->passes_on = false;
}

} // namespace fiber::actors
