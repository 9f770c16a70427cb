// SPDX-License-Identifier: Apache-2.0
#include "actors/driver/fenced_job.hpp"

#include <utility>

#include <caf/all.hpp>

#include "actors/driver/backend_actor.hpp"
#include "actors/protocol/job_log.hpp"
#include "actors/protocol/messages.hpp"

namespace fiber::actors {
namespace {

struct Linger {}; ///< The job is gone and its link has had its time.

} // namespace
} // namespace fiber::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::Linger)

namespace fiber::actors {
namespace {

struct WardenState {
  static constexpr const char* name = "fiber.warden";
  explicit WardenState(caf::event_based_actor* self) : self(self) {}

  caf::behavior make_behavior(JobLink taken, std::shared_ptr<ShareStore> with,
                              caf::actor of) {
    at = std::move(taken);
    shares = std::move(with);
    pool = std::move(of);
    return {
      [this](const FromLink& from) {
        try {
          Reader reader(from.message.bytes());
          auto op = read_op(reader);
          if (op == Op::results || op == Op::timed_results)
            self->send(
              pool, NodeResults{at.incarnation, read_results(reader, from.message,
                                                             op == Op::timed_results)});
          else if (op == Op::log)
            log_for_job(at.name, read_log(reader));
        } catch (const Error&) { // It is refused in any case.
          at.link->close();
        }
      },
      [](LinkSilent) {},
      [](const JobOutput&) {},
      [this](const LinkClosed&) {
        at.link_gone = true;
        end();
      },
      [this](const backends::JobEvent& event) {
        if (event.kind == backends::JobEvent::Kind::started)
          return;
        at.job_gone = true;
        self->delayed_send(self, link_lingers, Linger{});
        end();
      },
      [this](Linger) { at.link->close(); },
      [](KillNode) {},
      [](const NodeFrame&) {},
    };
  }

  void end() {
    if (!at.link_gone || !at.job_gone)
      return;
    shares->job_gone(at.incarnation);
    self->quit();
  }

  caf::event_based_actor* self;
  JobLink at;
  std::shared_ptr<ShareStore> shares;
  caf::actor pool;
};

} // namespace

caf::actor spawn_warden(caf::event_based_actor* node_link, JobLink at,
                        std::shared_ptr<ShareStore> shares, caf::actor pool) {
  return node_link->spawn(
    [](caf::stateful_actor<WardenState>* self, const JobLink& taken,
       const std::shared_ptr<ShareStore>& with,
       const caf::actor& of) { return self->state.make_behavior(taken, with, of); },
    std::move(at), std::move(shares), std::move(pool));
}

} // namespace fiber::actors
