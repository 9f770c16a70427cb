// SPDX-License-Identifier: Apache-2.0
#include "actors/supervision/supervisor_actor.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <utility>

#include <caf/all.hpp>
#include <fmt/ranges.h>

#include "actors/core/exit.hpp"
#include "actors/supervision/restart_policy.hpp"
#include "base/log.hpp"
#include "fiber/detail/caf/message_type.hpp"

namespace fiber::actors {

/// The wait before a restart, or a stop limit, is over.
struct AlarmOver {
  std::uint64_t number;
};

} // namespace fiber::actors

FIBER_ACTOR_MESSAGE(fiber::actors::AlarmOver)

namespace fiber::actors {
namespace {

using std::chrono::milliseconds;

/// A child is up (it has a handle), down and due to start, or about to be erased.
struct Child {
  ChildSpec spec;
  caf::actor handle;            // Empty while it is down.
  bool asked_to_end = false;    // An exit message was sent to `handle`.
  bool to_be_stopped = false;   // By the strategy, or because the supervisor ends.
  bool starting = false;        // It is up, but has not announced its start.
  bool must_start = false;      // It is forgotten if its first start fails.
  std::uint64_t wait_alarm = 0; // The alarm that it waits for while down; 0: none.
  std::uint64_t kill_alarm = 0; // The alarm at which it is killed; 0: none.
  std::vector<caf::response_promise> removals; // If any, it is forgotten once down.
  FailureStreak streak;
  int starts = 0;
  std::string last_error;
};

/// Why children failed, and which.
struct Cause {
  std::string why;
  std::vector<std::string> children;
  bool others = false; ///< More children than are named.
};

struct SupervisorState {
  static constexpr const char* name = "fiber.supervisor";

  explicit SupervisorState(caf::event_based_actor* ptr) : self(ptr) {}

  /// However the supervisor ends, it kills its children and answers every request.
  ~SupervisorState() {
    for (auto& child : table) {
      caf::anon_send_exit(child->handle, caf::exit_reason::kill);
      for (auto& removal : child->removals)
        removal.deliver(make_exit(ExitKind::lost, config.name + " was killed"));
    }
    for (auto& stopper : stoppers)
      stopper.deliver(make_exit(ExitKind::lost, config.name + " was killed"));
  }

  caf::behavior make_behavior(SupervisorConfig from) {
    config = std::move(from);
    window.emplace(config.intensity, config.period);
    dice.emplace(config.backoff, config.seed);
    self->set_down_handler([this](caf::down_msg& down) { child_down(down); });
    self->set_exit_handler([this](caf::exit_msg& exit) { asked_to_end(exit); });
    for (auto& spec : std::exchange(config.children, {}))
      std::ignore = add({std::move(spec)});
    return {
      [this](StartChild& request) { return add(std::move(request)); },
      [this](ChildStarted) { child_announced(); },
      [this](const StopChild& request) { return remove(request.name); },
      [this](ForgiveFailures) { forgive_all(); },
      [this](LimitRestarts limit) { window->allow(limit.intensity); },
      [this](ListChildren) { return list(); },
      [this](StopSupervisor) { return stop_all(); },
      [this](AlarmOver alarm) { alarm_rang(alarm.number); },
    };
  }

  // -- requests --

  caf::result<ChildInfo> add(StartChild request) {
    if (ending)
      return refusal("is stopping");
    if (find(request.spec.name))
      return refusal("has a child \"" + request.spec.name + "\" already");
    auto child = std::make_shared<Child>();
    child->spec = std::move(request.spec);
    child->must_start = request.must_start;
    table.push_back(child);
    proceed();
    if (ending)
      return refusal("is stopping: " + exit_text(reason));
    if (find(child->spec.name) != child)
      return make_exit(ExitKind::lost, child->last_error);
    return info(*child);
  }

  caf::result<caf::unit_t> remove(const std::string& child_name) {
    auto child = find(child_name);
    if (!child)
      return refusal("has no child \"" + child_name + "\"");
    if (!child->handle) {
      forget(child, {});
      proceed(); // Later siblings may have waited for this one.
      return caf::unit;
    }
    auto promise = self->make_response_promise();
    child->removals.push_back(promise);
    ask_to_end(*child, false);
    return promise;
  }

  void child_announced() {
    auto child = find(caf::actor_cast<caf::actor_addr>(self->current_sender()));
    if (!child)
      return; // An earlier incarnation.
    child->starting = child->must_start = false;
    proceed();
  }

  void forgive_all() {
    window->forgive();
    recent_causes.clear();
    for (auto& child : table)
      child->streak.forgive();
  }

  std::vector<ChildInfo> list() const {
    std::vector<ChildInfo> result;
    for (const auto& child : table)
      result.push_back(info(*child));
    return result;
  }

  caf::result<caf::unit_t> stop_all() {
    auto promise = self->make_response_promise();
    stoppers.push_back(promise);
    end({});
    proceed();
    return promise;
  }

  void asked_to_end(caf::exit_msg& exit) {
    if (!exit.reason)
      return; // A linked actor ended normally.
    end(std::move(exit.reason));
    proceed();
  }

  // -- ends of children --

  void child_down(const caf::down_msg& down) {
    auto child = find(down.source);
    if (!child)
      return; // An earlier incarnation.
    child->handle = nullptr;
    child->kill_alarm = 0;
    auto stopped = std::exchange(child->to_be_stopped, false);
    child->asked_to_end = child->starting = false;
    if (!child->removals.empty()) {
      forget(child, down.reason);
      for (auto& removal : child->removals)
        removal.deliver(caf::unit);
      child->removals.clear();
    } else if (stopped) {
      if (ending || child->spec.restart == Restart::temporary)
        forget(child, down.reason);
    } else {
      handle_exit(child, down.reason, true);
    }
    proceed();
  }

  /// Restarts or forgets a child that ended or, if not `started`, could not be started.
  void handle_exit(const std::shared_ptr<Child>& child, const caf::error& why,
                   bool started) {
    auto kind = exit_kind(why);
    if (kind != ExitKind::planned)
      child->last_error = exit_text(why);
    if (child->must_start || !starts_again(child->spec.restart, kind)) {
      forget(child, why);
      return;
    }
    if (config.count_blameless || is_failure(kind)) {
      if (!count_failure(*child, exit_text(why), started))
        return;
    } else {
      child->streak.forgive();
    }
    stop_for_restart(child);
  }

  /// Counts a failure and sets the wait before the next start. If that was one failure
  /// too many, gives up and returns false.
  bool count_failure(Child& child, const std::string& why, bool started) {
    auto now = self->clock().now();
    note_exit(child.spec.name, why);
    if (!window->add(now)) {
      escalate(child);
      return false;
    }
    auto wait = dice->wait(child.streak.failed(now, config.reset_after));
    log().info("{}: child \"{}\" {}; restarts in {} ms", config.name, child.spec.name,
               why, wait.count());
    if (wait.count() > 0 ||
        !started) // Even a wait of 0 lets other messages through before the next start.
      child.wait_alarm = set_alarm(wait);
    return true;
  }

  /// Marks the children that the strategy restarts along with `failed`.
  void stop_for_restart(const std::shared_ptr<Child>& failed) {
    if (config.strategy == Strategy::one_for_one)
      return;
    auto first = config.strategy == Strategy::one_for_all
                   ? table.begin()
                   : std::find(table.begin(), table.end(), failed);
    for (; first != table.end(); ++first)
      (*first)->to_be_stopped = (*first)->handle != nullptr;
  }

  void escalate(const Child& child) {
    auto text = "child \"" + child.spec.name + "\" of " + config.name + " failed; " +
                std::to_string(window->count()) + " failures";
    if (config.period)
      text += " within " + std::to_string(config.period->count()) + " ms";
    text += ", last:";
    for (const auto& cause : recent_causes)
      text += fmt::format(" [{}{}: {}]", fmt::join(cause.children, ", "),
                          cause.others ? " and others" : "", cause.why);
    log().error("{}: gives up: {}", config.name, text);
    end(make_exit(ExitKind::escalated, std::move(text)));
  }

  /// Keeps the last five distinct causes, the latest last, each with the last five
  /// children that failed so.
  void note_exit(const std::string& child_name, const std::string& why) {
    constexpr std::size_t limit = 5;
    Cause cause{.why = why, .children = {}};
    auto known = std::ranges::find(recent_causes, why, &Cause::why);
    if (known != recent_causes.end()) {
      cause = std::move(*known);
      recent_causes.erase(known);
    } else if (recent_causes.size() == limit) {
      recent_causes.erase(recent_causes.begin());
    }
    std::erase(cause.children, child_name);
    if (cause.children.size() == limit) {
      cause.children.erase(cause.children.begin());
      cause.others = true;
    }
    cause.children.push_back(child_name);
    recent_causes.push_back(std::move(cause));
  }

  void end(caf::error why) {
    if (ending)
      return;
    ending = true;
    reason = std::move(why);
    std::erase_if(table, [](const auto& child) { return !child->handle; });
    for (auto& child : table)
      child->to_be_stopped = true;
  }

  void finish() {
    ended = true;
    for (auto& stopper : std::exchange(stoppers, {}))
      stopper.deliver(caf::unit);
    self->quit(reason);
  }

  // -- stopping and starting --

  /// Stops the marked children and, when all of them are down, starts those that are due.
  /// Every handler ends with this call.
  void proceed() {
    do {
      if (ended || stop_marked())
        return;
      if (ending) {
        finish();
        return;
      }
    } while (!start_due());
  }

  /// Stops the marked children in reverse order; true while any of them is up.
  bool stop_marked() {
    bool any = false;
    auto again = !ending || is_restart_exit(reason) ||
                 exit_kind(reason) == ExitKind::escalated; // By the supervisor above.
    for (auto i = table.rbegin(); i != table.rend(); ++i) {
      if (!(*i)->to_be_stopped)
        continue;
      ask_to_end(**i, again);
      any = true;
      if (!config.stop_together)
        break;
    }
    return any;
  }

  void ask_to_end(Child& child, bool to_start_again) {
    if (std::exchange(child.asked_to_end, true))
      return;
    auto at_once = child.spec.stop_limit.count() <= 0;
    auto again = to_start_again && child.spec.restart != Restart::temporary;
    self->send_exit(child.handle, at_once ? caf::error(caf::exit_reason::kill)
                                  : again ? restart_exit()
                                          : caf::error(caf::exit_reason::user_shutdown));
    if (!at_once && child.spec.stop_limit != ChildSpec::no_limit)
      child.kill_alarm = set_alarm(child.spec.stop_limit);
  }

  /// Starts the children that are down and wait for no alarm, in order. False if a start
  /// failed, after which there may be children to stop.
  bool start_due() {
    auto waits = [](const auto& child) { return child->wait_alarm != 0; };
    if (config.strategy == Strategy::one_for_all && std::ranges::any_of(table, waits))
      return true;
    for (auto& child : table) {
      if (!child->handle && !waits(child) && !start(std::shared_ptr(child)))
        return false;
      if ((waits(child) || child->starting) && config.strategy != Strategy::one_for_one)
        return true; // Later siblings wait, except with one_for_one.
    }
    return true;
  }

  /// Starts a child; one that can't be started counts as one that died at once.
  bool start(const std::shared_ptr<Child>& child) {
    try {
      auto handle = child->spec.start(self);
      if (!handle)
        throw std::runtime_error("it returned no actor");
      if (find(handle.address()))
        throw std::runtime_error("it returned another child's actor");
      self->monitor(handle);
      child->handle = std::move(handle);
      child->starting = child->spec.announces;
      child->must_start = child->must_start && child->starting;
      child->streak.started(self->clock().now());
      ++child->starts;
      return true;
    } catch (const std::exception& e) {
      handle_exit(
        child,
        make_exit(ExitKind::lost, std::string("could not be started: ") + e.what()),
        false);
    } catch (...) {
      handle_exit(child,
                  make_exit(ExitKind::lost, "could not be started: unknown exception"),
                  false);
    }
    return false;
  }

  // -- the table and the clock --

  std::shared_ptr<Child> find(const std::string& child_name) const {
    auto i = std::ranges::find_if(
      table, [&](const auto& child) { return child->spec.name == child_name; });
    return i == table.end() ? nullptr : *i;
  }

  std::shared_ptr<Child> find(const caf::actor_addr& address) const {
    auto i = std::ranges::find_if(table, [&](const auto& child) {
      return child->handle && child->handle.address() == address;
    });
    return i == table.end() ? nullptr : *i;
  }

  void forget(const std::shared_ptr<Child>& child, const caf::error& why) {
    std::erase(table, child);
    if (child->spec.forgotten && !ending)
      child->spec.forgotten(why);
  }

  static ChildInfo info(const Child& child) {
    return {.name = child.spec.name,
            .alive = static_cast<bool>(child.handle),
            .restarts = std::max(0, child.starts - 1),
            .last_error = child.last_error};
  }

  caf::error refusal(const std::string& why) const {
    return make_exit(ExitKind::lost, config.name + " " + why);
  }

  std::uint64_t set_alarm(milliseconds wait) {
    constexpr milliseconds year = std::chrono::hours(24 * 365); // Far below an overflow.
    if (wait.count() > 0)
      self->delayed_send(self, std::min(wait, year), AlarmOver{++alarms});
    else
      self->send(self, AlarmOver{++alarms});
    return alarms;
  }

  void alarm_rang(std::uint64_t number) {
    for (auto& child : table) {
      if (child->wait_alarm == number)
        child->wait_alarm = 0;
      if (child->kill_alarm == number)
        self->send_exit(child->handle, caf::exit_reason::kill);
    }
    proceed();
  }

  caf::event_based_actor* self;
  SupervisorConfig config;
  std::optional<RestartWindow> window;
  std::optional<BackoffDice> dice;
  std::vector<std::shared_ptr<Child>> table; // In the order of their start.
  std::vector<Cause> recent_causes;
  std::vector<caf::response_promise> stoppers;
  std::uint64_t alarms = 0;
  bool ending = false; // No child starts any more; `reason` says why.
  bool ended = false;  // It has quit.
  caf::error reason;
};

} // namespace

caf::actor spawn_supervisor(caf::actor_system& system, SupervisorConfig config) {
  // An argument, not a capture: CAF 0.17 binds a null reference for functions without
  // arguments.
  return system.spawn(
    [](caf::stateful_actor<SupervisorState>* self, const SupervisorConfig& with) {
      return self->state.make_behavior(with);
    },
    std::move(config));
}

} // namespace fiber::actors
