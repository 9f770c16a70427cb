// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include <unistd.h>

#include <fiber/fiber.hpp>

#include "tests/e2e/support/notes.hpp"
#include "tests/e2e/support/processes.hpp"

// What tests put under supervision.

namespace fiber::e2e {

/// Counts; notes in "events" when it is made and stopped, and each life's pid.
class Counter {
public:
  Counter() : Counter("") {}
  explicit Counter(std::string name) : name_(std::move(name)) {
    note("pids " + name_, std::to_string(getpid()));
    note("events", "+" + name_);
  }
  void on_restart(Checkpoint& from) { count_ = from.load<int>().value_or(0); }
  void on_stop() { note("events", "-" + name_); }

  int count() { return ++count_; }
  int pid() const { return getpid(); }
  void save() { this_object::checkpoint().save(count_); }
  void exit_with(int code) { std::_Exit(code); }
  void wait_for_ever() {
    note("waits", "");
    for (;;)
      pause();
  }

private:
  std::string name_;
  int count_ = 0;
};

class Fails {
public:
  Fails() { throw std::out_of_range("never"); }
};

/// Its constructor throws at so many restarts.
class FailsAgain {
public:
  explicit FailsAgain(std::size_t times) {
    auto made = note("made", "");
    if (made > 1 && made <= times + 1)
      throw std::runtime_error("not now");
  }
  int pid() const { return getpid(); }
};

/// Kills the job of the n-th child and waits until it is there again.
template <class C>
void kill_and_await(const Supervisor& supervisor, std::size_t n, const Ref<C>& child) {
  auto before = supervisor.children().at(n).restarts;
  ::kill(child.template call<&C::pid>(), SIGKILL);
  wait_until([&] {
    auto now = supervisor.children().at(n);
    return now.restarts > before && now.alive;
  });
}

/// What a call throws; empty: nothing.
template <class F>
std::string why(F call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline bool supervisor_ended(const Supervisor& supervisor) {
  return supervisor.children().empty();
}

} // namespace fiber::e2e
