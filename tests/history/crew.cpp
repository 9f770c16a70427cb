// SPDX-License-Identifier: Apache-2.0
#include "tests/history/crew.hpp"

#include <utility>

#include <fiber/error.hpp>

namespace fiber::history {

Crew::Crew(std::string kind, std::size_t size, bool replace, Make make)
  : kind_(std::move(kind)), size_(size), replace_(replace), make_(std::move(make)) {
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
  if (members_.empty())
    return;
  auto& member = members_[random() % members_.size()];
  if (!member.process.is_alive())
    return;
  recorder.event("kill", kind_, member.name);
  member.process.kill();
}

void Crew::look(Recorder& recorder) {
  const auto ended = std::erase_if(members_, [&](const Member& member) {
    if (member.process.is_alive())
      return false;
    recorder.event("end", kind_, member.name);
    return true;
  });
  for (std::size_t i = 0; replace_ && i < ended; ++i)
    add();
}

void Crew::join() {
  for (auto& member : members_) {
    try {
      member.process.join();
    } catch (const Error&) { // It could not be started.
    }
  }
}

} // namespace fiber::history
