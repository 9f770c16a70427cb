// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include "actors/core/exit.hpp"
#include "actors/supervision/supervisor_actor.hpp"
#include "base/log.hpp"
#include "fiber/detail/caf/message_type.hpp"
#include "fiber/detail/caf/scheduler.hpp"

namespace fiber::actors {

/// Tells a child of a SupervisedWorld to end with this reason.
struct EndWith {
  caf::error reason;
};
/// Tells a child to announce that it has started.
struct AnnounceTo {
  caf::actor supervisor;
};

} // namespace fiber::actors

CAF_BEGIN_TYPE_ID_BLOCK(supervised_world, caf::first_custom_type_id + 10)
CAF_ADD_TYPE_ID(supervised_world, (fiber::actors::EndWith))
CAF_ADD_TYPE_ID(supervised_world, (fiber::actors::AnnounceTo))
CAF_END_TYPE_ID_BLOCK(supervised_world)
FIBER_ACTOR_MESSAGE(fiber::actors::EndWith)
FIBER_ACTOR_MESSAGE(fiber::actors::AnnounceTo)

namespace fiber::actors {

using std::chrono::milliseconds;

/// The record of all children of a world, which they share.
struct Chronicle {
  std::vector<std::string> events; ///< "+a" started, "-a" asked to end, "~a" down.
  std::map<std::string, caf::actor> newest;
  std::map<std::string, int> alive;
  std::map<std::string, int> starts;
  std::map<std::string, int>
    failing_starts;               ///< How many of the next starts of this child throw.
  std::set<std::string> stubborn; ///< These ignore that they are asked to end.
  std::map<std::string, std::string> forgotten; ///< Why these have ended for good.
  int max_alive = 0; ///< Most live incarnations of one name at a time.
};

/// The answer to one request.
struct Response {
  int count = 0;
  std::string error;
  std::optional<ChildInfo> info;
  std::vector<ChildInfo> list;

  bool ok() const { return count == 1 && error.empty(); }
};

/// An actor system in which no actor runs and no time passes outside run() and advance().
class SupervisedWorld {
public:
  SupervisedWorld() {
    log().set_level(spdlog::level::off);
    detail::set_scheduler(config_, "testing");
    system_ = std::make_unique<caf::actor_system>(config_);
  }

  ~SupervisedWorld() {
    for (auto& [_, child] : chronicle->newest)
      caf::anon_send_exit(child, caf::exit_reason::kill);
    chronicle->newest.clear();
    for (auto& supervisor : supervisors_)
      caf::anon_send_exit(supervisor, caf::exit_reason::kill);
    supervisors_.clear();
    run();
    scheduler().trigger_timeouts(); // Alarms hold their supervisors.
    run();
  }

  caf::scheduler::test_coordinator& scheduler() {
    return static_cast<caf::scheduler::test_coordinator&>(system_->scheduler());
  }

  caf::actor_system& system() { return *system_; }

  void run() { scheduler().run(); }

  void advance(milliseconds time) {
    scheduler().advance_time(time);
    run();
  }

  /// Returns the specification of a child that writes to the chronicle.
  ChildSpec child(const std::string& name, Restart restart = Restart::permanent,
                  milliseconds limit = milliseconds(1000)) {
    return {.name = name,
            .restart = restart,
            .start =
              [=, book = chronicle](caf::event_based_actor* supervisor) {
                return start(supervisor->home_system(), name, book);
              },
            .stop_limit = limit};
  }

  /// Returns the same for a child that announces its start when announce() tells it to.
  ChildSpec announcing(const std::string& name, Restart restart = Restart::permanent) {
    auto spec = child(name, restart);
    spec.announces = true;
    spec.forgotten = [=, book = chronicle](const caf::error& why) {
      book->forgotten[name] = exit_text(why);
    };
    return spec;
  }

  void announce(const std::string& name) {
    caf::anon_send(chronicle->newest.at(name), AnnounceTo{supervisors_.back()});
    run();
  }

  ChildSpec subtree(const SupervisorConfig& config,
                    Restart restart = Restart::permanent) {
    return {.name = config.name,
            .restart = restart,
            .start =
              [=, book = chronicle](caf::event_based_actor* supervisor) {
                book->events.push_back("+" + config.name);
                return book->newest[config.name] =
                         spawn_supervisor(supervisor->home_system(), config);
              },
            .stop_limit = ChildSpec::no_limit};
  }

  caf::actor supervisor(SupervisorConfig config) {
    supervisors_.push_back(spawn_supervisor(*system_, std::move(config)));
    run();
    return supervisors_.back();
  }

  /// Starts a supervisor of the permanent children a, b and c.
  caf::actor supervisor_of_three(SupervisorConfig config) {
    config.children = {child("a"), child("b"), child("c")};
    auto result = supervisor(std::move(config));
    chronicle->events.clear();
    return result;
  }

  /// Sends a request; the answer appears as the world runs.
  template <class Message>
  std::shared_ptr<Response> ask(const caf::actor& supervisor, Message message) {
    auto answer = std::make_shared<Response>();
    // With an argument: CAF 0.17 binds a null reference for functions without.
    auto requester = [=](caf::event_based_actor* self, const Message& message) {
      auto failed = [answer](caf::error& e) {
        ++answer->count;
        answer->error = exit_text(e);
      };
      auto reply = self->request(supervisor, caf::infinite, message);
      if constexpr (std::is_same_v<Message, StartChild>)
        reply.then(
          [answer](ChildInfo& info) {
            ++answer->count;
            answer->info = std::move(info);
          },
          failed);
      else if constexpr (std::is_same_v<Message, ListChildren>)
        reply.then(
          [answer](std::vector<ChildInfo>& list) {
            ++answer->count;
            answer->list = std::move(list);
          },
          failed);
      else
        reply.then([answer] { ++answer->count; }, failed);
    };
    system_->spawn(requester, std::move(message));
    return answer;
  }

  template <class Message>
  Response asked(const caf::actor& supervisor, Message message) {
    auto answer = ask(supervisor, std::move(message));
    run();
    return *answer;
  }

  /// Ends the live incarnation of a child; no actor hears of it before run().
  void send_end(const std::string& name, ExitKind kind, std::string text = "broken") {
    caf::anon_send(chronicle->newest.at(name), EndWith{make_exit(kind, std::move(text))});
  }

  void end(const std::string& name, ExitKind kind = ExitKind::lost,
           std::string text = "broken") {
    send_end(name, kind, std::move(text));
    run();
  }

  /// Returns why a supervisor or child ended; nothing if it lives.
  std::optional<caf::error> end_of(const caf::actor& actor) {
    auto result = std::make_shared<std::optional<caf::error>>();
    actor->attach_functor([=](const caf::error& reason) { *result = reason; });
    return *result;
  }

  bool is_alive(const caf::actor& actor) { return !end_of(actor); }

  /// Returns the events since the last call, separated by spaces.
  std::string events() {
    std::string result;
    for (auto& event : std::exchange(chronicle->events, {}))
      result += (result.empty() ? "" : " ") + event;
    return result;
  }

  /// Returns the names of the live children in alphabetical order.
  std::string living() const {
    std::string result;
    for (const auto& [name, count] : chronicle->alive)
      for (int i = 0; i < count; ++i)
        result += name;
    return result;
  }

  std::shared_ptr<Chronicle> chronicle = std::make_shared<Chronicle>();

private:
  static caf::actor start(caf::actor_system& system, const std::string& name,
                          const std::shared_ptr<Chronicle>& book) {
    if (auto& failing = book->failing_starts[name]; failing > 0) {
      --failing;
      book->events.push_back("x" + name);
      throw std::runtime_error("no room");
    }
    auto behaviour = [=](caf::event_based_actor* self,
                         const std::string& name) -> caf::behavior {
      self->set_exit_handler([=](caf::exit_msg& exit) {
        book->events.push_back("-" + name);
        if (!book->stubborn.contains(name))
          self->quit(exit.reason);
      });
      return {[=](const EndWith& how) { self->quit(how.reason); },
              [=](const AnnounceTo& to) { self->send(to.supervisor, ChildStarted{}); }};
    };
    auto actor = system.spawn(behaviour, name);
    book->events.push_back("+" + name);
    ++book->starts[name];
    book->max_alive = std::max(book->max_alive, ++book->alive[name]);
    actor->attach_functor([=](const caf::error&) {
      book->events.push_back("~" + name);
      --book->alive[name];
    });
    return book->newest[name] = actor;
  }

  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  std::vector<caf::actor> supervisors_;
};

} // namespace fiber::actors
