// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "actors/protocol/call.hpp"
#include "base/exit_code_text.hpp"
#include "fiber/error.hpp"
#include "fiber/value.hpp"

// The plan of a simulated history and its judge, the ledger: it records the story of each
// task on the nodes and compares that with the outcome that the pool delivers.

namespace fiber::actors::simulation {

/// A task's argument identifies the task; the padding makes some arguments large.
using Argument = std::pair<std::uint64_t, std::string>;
inline std::uint64_t argument_of(std::uint64_t call, std::size_t index) {
  return (call << 32) | index;
}
inline std::uint64_t simulated_task(const Argument& argument) {
  return argument.first * 0x9e3779b97f4a7c15 + argument.second.size();
}

/// The events that may happen in a history. Each is enabled in some histories only, so
/// that every combination occurs.
struct Plan {
  int max_retries = 3;
  bool retry_exceptions = false;
  std::size_t max_tasks = 0; ///< max_tasks_per_worker
  bool kills = false, after_results = false, drains = false, leases = false,
       silences = false;
  bool poison = false, throwing = false, duplicates = false, slow = false, hangs = false;
  bool limits = false; ///< Tasks may run into task_timeout.
  bool failing_starts = false, pages = false, padded = false;
  bool speculate = false; ///< Slow tasks get copies.
  bool storm = false;     ///< Any number of nodes may be lost, so the pool may give up.
  int losses_left = 4;    ///< Without a storm: fewer than any supervisor's intensity.
};

/// What a task is planned to do, and what has happened to it.
struct Story {
  int kills = 0;  ///< How many of its first runs kill their worker; -1: all.
  int throws = 0; ///< How many of its first runs throw; -1: all.
  int starts = 0;
  int delivered = 0;
  int last_attempt = 0;   ///< Attempt in the last frame that held it.
  int strange_losses = 0; ///< Workers that had it and were lost without a task's fault.
  std::vector<std::optional<int>> exits; ///< Of all lost workers that had it.
  std::exception_ptr error;
  bool value_wrong = false;
  bool overdue = false; ///< A node has reported it.
};

struct CallStory {
  std::vector<Story> tasks;
  std::size_t padding = 0;
  std::size_t submitted = 0; ///< Tasks that the pool was given so far.
  bool cancelled = false;
};

/// The events that must occur somewhere in many histories, else nothing was tested.
enum class Event { loss, drain, resize, cancel, overdue, duplicate, hand_back, copy };
constexpr std::array event_names{"loss",    "drain",     "resize",    "cancel",
                                 "overdue", "duplicate", "hand_back", "copy"};
using Seen = std::array<std::size_t, event_names.size()>;

class Ledger {
public:
  explicit Ledger(std::uint64_t seed, bool tells) : random(seed), tells_(tells) {}

  std::uint64_t below(std::uint64_t n) { return random() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

  template <class... Args>
  void tell(const char* format, Args... args) {
    if (!tells_)
      return;
    if constexpr (sizeof...(Args) == 0)
      std::fputs(format, stderr);
    else
      std::fprintf(stderr, format, args...); // NOLINT(cppcoreguidelines-pro-type-vararg)
  }
  void saw(Event event, std::size_t n = 1) { seen[static_cast<std::size_t>(event)] += n; }
  void complain(const std::string& what) {
    tell("COMPLAINT %s\n", what.c_str());
    if (complaints.size() < 10)
      complaints.push_back(what);
  }

  Story& story(std::uint64_t call, std::uint64_t index) {
    return calls.at(call).tasks.at(index);
  }

  void deliver(std::uint64_t call, std::vector<Completion>& completions) {
    for (auto& completion : completions) {
      auto& task = story(call, completion.index);
      tell("  result %llu.%zu %s\n", static_cast<unsigned long long>(call),
           completion.index, completion.outcome.error ? "error" : "value");
      if (++task.delivered > 1) {
        complain(name(call, completion.index) + " was delivered twice");
        continue;
      }
      ++resolved;
      task.error = completion.outcome.error;
      if (!task.error) {
        Reader reader(completion.outcome.value.bytes());
        auto value = unpack<std::uint64_t>(reader);
        Argument argument{argument_of(call, completion.index),
                          std::string(calls[call].padding, 'x')};
        task.value_wrong = value != simulated_task(argument);
      }
    }
  }

  std::size_t expected() const {
    std::size_t sum = 0;
    for (auto& call : calls)
      sum += call.submitted;
    return sum;
  }

  /// Judges every outcome at the end of the history.
  void judge() {
    for (std::size_t call = 0; call < calls.size(); ++call)
      for (std::size_t i = 0; i < calls[call].submitted; ++i)
        judge(call, i);
  }

  static std::string name(std::uint64_t call, std::uint64_t index) {
    return "task " + std::to_string(call) + "." + std::to_string(index);
  }

  std::mt19937_64 random;
  Plan plan;
  std::vector<CallStory> calls; ///< By id.
  std::size_t resolved = 0;
  std::uint64_t incarnations = 0;
  int nodes_alive = 0;
  bool terminated = false;
  std::vector<std::string> complaints;
  Seen seen{};

private:
  void judge(std::uint64_t call, std::uint64_t index) {
    auto& task = story(call, index);
    auto who = name(call, index);
    if (task.delivered == 0)
      return complain(who + " was never delivered");
    if (!task.error) {
      if (task.value_wrong)
        complain(who + " has a value that does not count");
      if (task.starts == 0 || task.kills < 0 || task.throws < 0)
        complain(who + " can't have a value");
      return;
    }
    try {
      std::rethrow_exception(task.error);
    } catch (const RemoteError& error) {
      auto last = plan.retry_exceptions ? std::max(plan.max_retries, 0) + 1 : 1;
      if (task.throws == 0 || error.index() != index || error.type() != "Simulated")
        complain(who + " fails with another's exception");
      if (plan.retry_exceptions && (plan.max_retries < 0 || error.attempt() < last))
        complain(who + " is not run again after an exception");
    } catch (const WorkerLost& lost) {
      judge_lost(task, who, index, lost);
    } catch (const Cancelled&) {
      if (!terminated && !calls[call].cancelled)
        complain(who + " is cancelled by nobody");
    } catch (const TimeoutError&) {
      if (!task.overdue)
        complain(who + " was in time and fails with TimeoutError");
    } catch (const BackendError&) {
      if (!plan.storm)
        complain(who + " fails since the pool gave up");
    } catch (const std::exception& error) {
      complain(who + " fails with " + error.what());
    }
  }

  void judge_lost(const Story& task, const std::string& who, std::uint64_t index,
                  const WorkerLost& lost) {
    if (plan.max_retries < 0)
      return complain(who + " is given up without a limit");
    auto charges = static_cast<std::size_t>(plan.max_retries) + 1;
    if (lost.index() != index || lost.exits().size() != charges)
      complain(who + " is given up after " + std::to_string(lost.exits().size()) +
               " losses");
    if (lost.attempts() < static_cast<int>(charges) ||
        lost.attempts() != task.last_attempt)
      complain(who + " says " + std::to_string(lost.attempts()) +
               " attempts, the last frame " + std::to_string(task.last_attempt));
    auto exits = task.exits;
    for (auto exit : lost.exits()) {
      auto found = std::find(exits.begin(), exits.end(), exit);
      if (found == exits.end())
        return complain(who + " is charged with a worker that it did not lose: " +
                        exit_code_text(exit));
      exits.erase(found);
    }
    // The fault of another task can cost a task one worker, never a second one.
    if (task.kills == 0 && plan.max_retries > 0 && task.strange_losses < plan.max_retries)
      complain(who + " is a bystander and fails");
  }

  bool tells_;
};

} // namespace fiber::actors::simulation
