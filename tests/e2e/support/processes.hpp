// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

// What the process table says. Everything that a session starts inherits the environment
// of its driver, so that one variable tells its processes, and whatever they start, from
// all others.

namespace fiber::e2e {

/// Long enough for a loaded machine; nobody waits for it unless something is wrong.
inline constexpr std::chrono::seconds deadline{30};

/// Looks again and again until `condition` holds; false if it does not within the
/// deadline.
bool wait_until(const std::function<bool()>& condition,
                std::chrono::milliseconds limit = deadline);

/// One process that carries the mark.
struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  char state = '?'; ///< 'T' if stopped.
  bool zygote = false;
};

/// Name of the variable; its value is the mark of one session.
inline constexpr const char* mark_variable = "E2E_MARK";

/// Living processes whose environment says E2E_MARK=mark.
std::vector<Process> marked(const std::string& mark);
/// Those that are jobs: leaders of a process group and no zygote.
std::vector<pid_t> jobs(const std::string& mark);
/// The zygote; 0 if there is none.
pid_t zygote(const std::string& mark);
/// What `parent` has forked so far and is still there: cheap enough for a tight loop.
std::vector<pid_t> children(pid_t parent);
/// Is it there, and no zombie?
bool lives(pid_t pid);
bool is_stopped(pid_t pid);

/// Names in a folder that hold "fiber".
std::vector<std::string> fiber_names(const std::string& folder);

} // namespace fiber::e2e
