// SPDX-License-Identifier: Apache-2.0
#include "tests/history/crew.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

namespace fiber::history {
namespace {

void signal(const Process& process, int number) {
  if (const auto pid = process.pid(); pid > 0 && process.is_alive())
    ::kill(pid, number);
}

} // namespace

Crew::Crew(std::string kind, std::size_t size, bool replace, Make make)
  : kind_(std::move(kind)), replace_(replace), make_(std::move(make)) {
  while (members_.size() < size)
    add();
}

void Crew::add() {
  auto name = kind_ + "-" + std::to_string(++made_);
  auto process = make_(name);
  process.start();
  members_.push_back({std::move(name), std::move(process)});
}

void Crew::disturb(Recorder& recorder, std::mt19937& random) {
  auto& member = members_[random() % members_.size()];
  if (!member.process.is_alive() || member.process.pid() <= 0 || member.stopped_for > 0)
    return;
  if (random() % 2 == 0) {
    recorder.event("kill", kind_, member.name);
    member.process.kill();
    return;
  }
  recorder.event("stall", kind_, member.name);
  signal(member.process, SIGSTOP);
  member.stopped_for = static_cast<int>(1 + random() % 4);
}

void Crew::look() {
  for (auto& member : members_)
    if (member.stopped_for > 0 && --member.stopped_for == 0)
      signal(member.process, SIGCONT);
  if (!replace_)
    return;
  const auto ended = std::erase_if(
    members_, [](const Member& member) { return !member.process.is_alive(); });
  for (std::size_t i = 0; i < ended; ++i)
    add();
}

void Crew::join() {
  for (auto& member : members_) {
    if (std::exchange(member.stopped_for, 0) > 0)
      signal(member.process, SIGCONT);
  }
  for (auto& member : members_)
    member.process.join();
}

bool Crew::all_ended() const {
  return std::ranges::none_of(
    members_, [](const Member& member) { return member.process.is_alive(); });
}

} // namespace fiber::history
