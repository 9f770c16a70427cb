// SPDX-License-Identifier: Apache-2.0
#include "actors/share/share_spread.hpp"

#include <utility>

#include "base/log.hpp"

namespace fiber::actors {

using Kind = ShareSpread::Step::Kind;

ShareSpread::Steps ShareSpread::wanted(const Job& job, std::uint64_t machine,
                                       Clock::time_point now) {
  Steps steps;
  if (!asked_.try_emplace(job.incarnation, Asked{machine, now}).second) { // It lies.
    steps.push_back({.kind = Kind::send, .to = job});
    return steps;
  }
  const auto [known, is_first] = copies_.try_emplace(machine);
  auto& copy = known->second;
  if (is_first) {
    copy.holder = job;
    advance(steps, now);
  } else if (copy.place.fd >= 0) {
    steps.push_back({.kind = Kind::map, .to = job, .place = copy.place});
  } else {
    copy.waiting.push_back(job);
    ask_for_memory(copy, steps);
  }
  return steps;
}

ShareSpread::Steps ShareSpread::waits(std::uint64_t incarnation, Clock::time_point now) {
  Steps steps;
  for (auto& [machine, copy] : copies_)
    if (copy.from != 0 && now >= copy.until)
      send_instead(copy, steps);
  send_if_late(incarnation, steps, now);
  advance(steps, now);
  return steps;
}

/// Sends the value to a job that has waited so long that those that it waits for lie, or
/// are too slow.
void ShareSpread::send_if_late(std::uint64_t incarnation, Steps& steps,
                               Clock::time_point now) {
  const auto asked = asked_.find(incarnation);
  if (asked == asked_.end() || now - asked->second.since < 4 * max_time(bytes_))
    return;
  asked->second.since = now;
  const auto known = copies_.find(asked->second.machine);
  if (known == copies_.end())
    return; // It is sent the value, as the first job of its machine is gone.
  auto& copy = known->second;
  if (copy.holder.incarnation == incarnation && copy.way == Copy::Way::undecided)
    send(copy, steps);
  std::erase_if(copy.waiting, [&](auto& job) {
    if (job.incarnation != incarnation)
      return false;
    steps.push_back({.kind = Kind::send, .to = job});
    return true;
  });
}

ShareSpread::Steps ShareSpread::failed(const Job& job, bool unreached,
                                       Clock::time_point now) {
  Steps steps;
  auto* copy = copy_of(job.incarnation);
  if (copy == nullptr || copy->arrived) {
    steps.push_back({.kind = Kind::send, .to = job}); // It can't map the memory.
  } else if (copy->from != 0) {
    if (unreached && passing_.works(now)) {
      passing_.failed(now);
      if (!passing_.works(now))
        log().info("jobs can't connect to each other: for a while the driver sends large "
                   "shared values to each machine");
    }
    send_instead(*copy, steps);
    advance(steps, now);
  }
  return steps; // Otherwise the value is on its way, or will be.
}

ShareSpread::Steps ShareSpread::arrived(std::uint64_t incarnation,
                                        Clock::time_point now) {
  Steps steps;
  auto* copy = copy_of(incarnation);
  if (copy == nullptr || std::exchange(copy->arrived, true))
    return steps;
  if (copy->from != 0)
    passing_.succeeded();
  free_source(*copy);
  if (!copy->waiting.empty())
    ask_for_memory(*copy, steps);
  advance(steps, now);
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
      steps.push_back({.kind = Kind::map, .to = job, .place = place});
    else
      steps.push_back({.kind = Kind::send, .to = job});
  copy->place = place;
  copy->asked = place.fd >= 0; // If there was no memory now, there may be later.
  return steps;
}

ShareSpread::Steps ShareSpread::listens(std::uint64_t incarnation, const PeerCall& call,
                                        const std::optional<PeerCall>& answer,
                                        Clock::time_point now) {
  Steps steps;
  auto* copy = copy_of(call.peer);
  if (copy == nullptr || copy->from != incarnation || copy->secret != call.secret ||
      copy->answer)
    return steps; // A late answer, or one more.
  if (!answer)
    return failed(copy->holder, true, now);
  copy->answer = answer;
  let_dial(*copy, steps);
  return steps;
}

ShareSpread::Steps ShareSpread::digested(const detail::Digest& digest) {
  Steps steps;
  digest_ = digest;
  for (auto& [machine, copy] : copies_)
    if (copy.from != 0 && copy.answer)
      let_dial(copy, steps);
  return steps;
}

ShareSpread::Steps ShareSpread::gone(std::uint64_t incarnation, Clock::time_point now) {
  Steps steps;
  asked_.erase(incarnation);
  for (auto each = copies_.begin(); each != copies_.end();) {
    auto& copy = each->second;
    if (copy.holder.incarnation == incarnation) {
      free_source(copy);
      // None becomes the holder: it may be gone as well.
      for (auto& job : copy.waiting)
        steps.push_back({.kind = Kind::send, .to = job});
      each = copies_.erase(each);
      continue;
    }
    if (copy.from == incarnation)
      send_instead(copy, steps);
    std::erase_if(copy.waiting,
                  [&](auto& job) { return job.incarnation == incarnation; });
    ++each;
  }
  advance(steps, now);
  return steps;
}

/// Lets the jobs that wait get the value, as far as that is possible now.
void ShareSpread::advance(Steps& steps, Clock::time_point now) {
  const auto all_are_sent = bytes_ < min_passed || !passing_.works(now);
  auto sent = std::ranges::count_if(
    copies_, [](auto& copy) { return copy.second.way == Copy::Way::sent; });
  auto source = copies_.begin();
  for (auto& [machine, copy] : copies_) {
    if (copy.way != Copy::Way::undecided)
      continue;
    if (all_are_sent || std::cmp_less(sent, max_sent)) {
      send(copy, steps);
      ++sent;
      continue;
    }
    source = std::find_if(source, copies_.end(), [](auto& other) {
      return other.second.arrived && !other.second.passes_on;
    });
    if (source == copies_.end())
      return;
    introduce(source->second, copy, steps, now);
  }
}

void ShareSpread::send(Copy& copy, Steps& steps) {
  copy.way = Copy::Way::sent;
  steps.push_back({.kind = Kind::send, .to = copy.holder});
}

void ShareSpread::introduce(Copy& source, Copy& copy, Steps& steps,
                            Clock::time_point now) {
  source.passes_on = true;
  copy.way = Copy::Way::passed;
  copy.from = source.holder.incarnation;
  copy.secret = fresh_secret();
  copy.until = now + max_time(bytes_);
  steps.push_back({.kind = Kind::listen,
                   .to = source.holder,
                   .call = {.to = copy.from,
                            .peer = copy.holder.incarnation,
                            .secret = copy.secret,
                            .share = id_}});
  if (!std::exchange(digest_wanted_, true))
    steps.push_back({.kind = Kind::digest});
}

/// Lets a job dial the one that listens, as soon as the digest is known.
void ShareSpread::let_dial(Copy& copy, Steps& steps) {
  if (!digest_)
    return;
  copy.answer->digest = *digest_;
  steps.push_back({.kind = Kind::dial, .to = copy.holder, .call = *copy.answer});
}

void ShareSpread::ask_for_memory(Copy& copy, Steps& steps) {
  if (copy.arrived && !std::exchange(copy.asked, true))
    steps.push_back({.kind = Kind::place, .to = copy.holder});
}

void ShareSpread::send_instead(Copy& copy, Steps& steps) {
  free_source(copy);
  send(copy, steps);
}

ShareSpread::Copy* ShareSpread::copy_of(std::uint64_t holder) {
  const auto asked = asked_.find(holder);
  if (asked == asked_.end())
    return nullptr;
  const auto copy = copies_.find(asked->second.machine);
  return copy != copies_.end() && copy->second.holder.incarnation == holder
           ? &copy->second
           : nullptr;
}

/// The job that was passing the value on to this one may pass it on to another.
void ShareSpread::free_source(Copy& copy) {
  if (copy.from == 0)
    return;
  if (auto* source = copy_of(std::exchange(copy.from, 0)))
    source->passes_on = false;
}

} // namespace fiber::actors
