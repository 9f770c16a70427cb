// SPDX-License-Identifier: Apache-2.0
#include "actors/driver/backend_actor.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include <caf/all.hpp>

#include "actors/driver/wait_news.hpp"
#include "backends/output/crash_line.hpp"
#include "backends/shortage.hpp"
#include "base/log.hpp"

namespace fiber::actors {

struct TellWaits {}; ///< Time to log what jobs wait for.

} // namespace fiber::actors

FIBER_ACTOR_MESSAGE(fiber::actors::TellWaits)

namespace fiber::actors {
namespace {

constexpr std::chrono::seconds short_wait{3}; ///< It is usual, and not logged.

struct BackendState {
  static constexpr const char* name = "fiber.job_backend";

  explicit BackendState(caf::event_based_actor* self) : self(self) {}

  struct Waiting {
    CreateJob order;
    caf::response_promise promise;
  };

  caf::behavior make_behavior(std::shared_ptr<backends::Backend> with, std::size_t most,
                              std::shared_ptr<Roster> keeps) {
    backend = std::move(with);
    window = most;
    roster = std::move(keeps);
    // By address: the backend must not keep alive the actor that owns it.
    auto address = caf::actor_cast<caf::actor_addr>(self);
    backend->watch([address](const backends::JobEvent& event) {
      if (auto actor = caf::actor_cast<caf::actor>(address))
        caf::anon_send(actor, event);
    });
    return {
      [this](CreateJob& order) {
        auto promise = self->make_response_promise();
        waiting.push_back({std::move(order), promise});
        create();
        return promise;
      },
      [this](const StartFinished& finished) {
        starting.erase(finished.name);
        in_queue.erase(finished.name);
        create();
      },
      [this](const CancelJob& cancel) {
        for (auto entry = waiting.begin(); entry != waiting.end(); ++entry)
          if (entry->order.spec->name == cancel.name) {
            entry->promise.deliver(JobCreated{nullptr, "cancelled"});
            waiting.erase(entry);
            break;
          }
      },
      [this](const EndJob& end) { backend->terminate(end.job, end.grace); },
      [this](const WatchJob& watch) {
        if (auto job = jobs.find(watch.job); job != jobs.end())
          job->second.owner = watch.owner;
        else // Its end was reported already, to the owner of that time.
          self->send(watch.owner,
                     backends::JobEvent{.kind = backends::JobEvent::Kind::ended,
                                        .job = watch.job,
                                        .pid = 0,
                                        .exit_code = {},
                                        .detail = "ended before"});
      },
      [this](const AskOutput& ask) {
        return JobOutput{jobs.count(ask.job) > 0 ? backend->logs(ask.job) : ""};
      },
      [this](const ReadOutput& read) {
        auto known = jobs.count(read.job) > 0;
        read.reply->set(known ? std::optional(backend->logs(read.job)) : std::nullopt);
      },
      [this](const backends::JobEvent& event) { report(event); },
      [this](TellWaits) {
        telling = false;
        for (auto& line : waits.take())
          log().warn("{}", line);
      },
    };
  }

  void create() {
    while (!waiting.empty() && starting.size() < window) {
      auto next = std::move(waiting.front());
      waiting.pop_front();
      auto name = next.order.spec->name;
      const auto resources = next.order.spec->resources;
      try {
        auto job =
          std::make_shared<backends::Job>(backend->create(std::move(*next.order.spec)));
        jobs[job->id] = {name, next.order.owner, next.order.all_output, resources};
        starting.insert(name);
        next.promise.deliver(JobCreated{std::move(job), {}});
      } catch (const backends::EngineError& error) {
        next.promise.deliver(JobCreated{nullptr, error.what(), error.status()});
        refuse_others(resources, error.what(), error.status());
      } catch (const std::exception& error) {
        next.promise.deliver(JobCreated{nullptr, error.what()});
      }
    }
  }

  /// If a job was refused for lack of something, refuses all that wait and ask for the
  /// same: they would be tried in vain.
  void refuse_others(const backends::JobResources& resources, const std::string& why,
                     int status) {
    if (!backends::is_shortage(status, why))
      return;
    std::erase_if(waiting, [&](Waiting& other) {
      auto same = other.order.spec->resources == resources;
      if (same)
        other.promise.deliver(JobCreated{nullptr, why, status});
      return same;
    });
  }

  void report(const backends::JobEvent& event) {
    auto job = jobs.find(event.job);
    if (job == jobs.end())
      return;
    if (event.kind == backends::JobEvent::Kind::ended)
      tell_output(event.job, job->second);
    self->send(job->second.owner, event);
    note_wait(job->second.name, event);
    if (!event.is_last())
      return;
    if (event.kind == backends::JobEvent::Kind::failed)
      refuse_others(job->second.resources, event.detail, event.status);
    starting.erase(job->second.name);
    in_queue.erase(job->second.name);
    jobs.erase(job);
    backend->forget(event.job);
    create();
  }

  /// A job that the engine has no room for leaves the start window, so that it keeps no
  /// other from being created; it returns when it has room.
  void note_wait(const std::string& name, const backends::JobEvent& event) {
    auto waiting = event.kind == backends::JobEvent::Kind::waits;
    waits.waits(name, waiting ? event.detail : "");
    if (waiting && !event.detail.empty() && !std::exchange(telling, true))
      self->delayed_send(self, short_wait, TellWaits{});
    if (event.is_in_queue() && event.wait == backends::JobEvent::Wait::room) {
      if (starting.erase(name) > 0) {
        in_queue.insert(name);
        create();
      }
    } else if (in_queue.erase(name) > 0) {
      starting.insert(name);
    }
  }

  struct Known {
    std::string name;
    caf::actor owner;
    bool all_output = false;
    backends::JobResources resources = {};
  };

  /// Sends the job's output to its owner, before the backend forgets both.
  void tell_output(const backends::JobId& id, const Known& job) {
    constexpr std::size_t most = 64 * 1024; // Other lines may follow a crash line.
    auto text = backend->logs(id);
    if (roster)
      roster->keep_output(job.name, backends::without_crash_lines(text));
    if (!job.all_output)
      text.erase(0, text.size() - std::min(text.size(), most));
    if (!text.empty())
      self->send(job.owner, JobOutput{std::move(text)});
  }

  caf::event_based_actor* self;
  std::shared_ptr<backends::Backend> backend;
  std::size_t window = 1;
  std::shared_ptr<Roster> roster;
  std::deque<Waiting> waiting;
  std::set<std::string> starting, in_queue; ///< No job is in both.
  WaitNews waits;
  bool telling = false; ///< A TellWaits is pending.
  std::map<backends::JobId, Known> jobs;
};

} // namespace

caf::actor spawn_job_backend(caf::actor_system& system,
                             std::shared_ptr<backends::Backend> backend,
                             std::size_t window, std::shared_ptr<Roster> roster) {
  return system.spawn<caf::detached>(
    [](caf::stateful_actor<BackendState>* self,
       const std::shared_ptr<backends::Backend>& with, std::size_t most,
       const std::shared_ptr<Roster>& keeps) {
      return self->state.make_behavior(with, most, keeps);
    },
    std::move(backend), window, std::move(roster));
}

} // namespace fiber::actors
