// SPDX-License-Identifier: Apache-2.0
#include "actors/driver/fenced_job.hpp"

#include <utility>

#include <caf/all.hpp>

#include "actors/driver/backend_actor.hpp"
#include "actors/protocol/job_log.hpp"
#include "actors/protocol/messages.hpp"
#include "fiber/detail/caf/message_type.hpp"

namespace fiber::actors {

struct LingerOver {}; ///< The job is gone, and the time for its link to close is over.

} // namespace fiber::actors

FIBER_ACTOR_MESSAGE(fiber::actors::LingerOver)

namespace fiber::actors {
namespace {

struct FencedJobState {
  static constexpr const char* name = "fiber.fenced_job";
  explicit FencedJobState(caf::event_based_actor* self) : self(self) {}

  caf::behavior make_behavior(JobLink taken, std::shared_ptr<ShareStore> with,
                              caf::actor of) {
    node = std::move(taken);
    shares = std::move(with);
    pool = std::move(of);
    return {
      [this](const FromLink& from) {
        try {
          Reader reader(from.message.bytes());
          auto op = read_op(reader);
          if (op == Op::results || op == Op::timed_results)
            self->send(pool, NodeResults{node.incarnation,
                                         read_results(reader, from.message,
                                                      op == Op::timed_results),
                                         from.waits});
          else if (op == Op::log)
            log_for_job(node.name, read_log(reader));
        } catch (const Error&) { // Ends the link of a job that can't be trusted.
          node.link->close();
        }
      },
      [](LinkSilent) {},
      [](const JobOutput&) {},
      [this](const LinkClosed&) {
        node.link_gone = true;
        end();
      },
      [this](const backends::JobEvent& event) {
        if (!event.is_last())
          return;
        node.job_gone = true;
        self->delayed_send(self, link_end_wait, LingerOver{});
        end();
      },
      [this](LingerOver) { node.link->close(); },
      [](KillNode) {},
      [](const NodeFrame&) {},
    };
  }

  void end() {
    if (!node.link_gone || !node.job_gone)
      return;
    shares->job_gone(node.incarnation);
    self->quit();
  }

  caf::event_based_actor* self;
  JobLink node;
  std::shared_ptr<ShareStore> shares;
  caf::actor pool;
};

} // namespace

caf::actor spawn_fenced_job(caf::event_based_actor* node_link, JobLink node,
                            std::shared_ptr<ShareStore> shares, caf::actor pool) {
  return node_link->spawn(
    [](caf::stateful_actor<FencedJobState>* self, const JobLink& taken,
       const std::shared_ptr<ShareStore>& with,
       const caf::actor& of) { return self->state.make_behavior(taken, with, of); },
    std::move(node), std::move(shares), std::move(pool));
}

} // namespace fiber::actors
