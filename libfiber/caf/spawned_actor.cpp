// SPDX-License-Identifier: Apache-2.0
#include "libfiber/caf/spawned_actor.hpp"

#include <chrono>
#include <utility>

#include "actors/caf/remote_actor.hpp"
#include "fiber/detail/caf/error.hpp"
#include "fiber/error.hpp"

namespace fiber::detail {
namespace {

constexpr int intensity = 5;
constexpr std::chrono::seconds period{10};

actors::RemoteActor& remote(const caf::strong_actor_ptr& actor) {
  return static_cast<actors::RemoteActor&>(*actor->get());
}

std::shared_ptr<actors::ObjectHandle> place_in(const RawOutcome& answer) {
  auto held = open_outcome<ActorPlace>(answer).held;
  return std::const_pointer_cast<actors::ObjectHandle>(
    std::static_pointer_cast<const actors::ObjectHandle>(held));
}

} // namespace

SpawnedActor::SpawnedActor(std::shared_ptr<Runtime> runtime, const SpawnOptions& options,
                           Manager manager, CellCalls cell)
  : runtime_(std::move(runtime)),
    name_(options.name.empty() ? "an actor" : "actor " + options.name),
    restart_(options.restart), manager_(std::make_shared<Manager>(std::move(manager))),
    cell_(std::move(cell)), restarts_(intensity, period) {}

SpawnedActor::~SpawnedActor() {
  // Elsewhere, because shutdown() waits for the job and this thread may have to deliver
  // its messages.
  runtime_->run_later([manager = manager_] { manager->shutdown(); });
}

caf::strong_actor_ptr SpawnedActor::start(std::shared_ptr<Runtime> runtime,
                                          const SpawnOptions& options, Manager manager,
                                          CellCalls cell) {
  std::shared_ptr<SpawnedActor> self(
    new SpawnedActor(std::move(runtime), options, std::move(manager), std::move(cell)));
  auto answer = self->cell_.place();
  answer->wait_index(0, Results::forever);
  auto place = place_in(answer->at(0));
  auto proxy = self->runtime_->actor_port()->make_spawned_proxy(place);
  self->proxy_ = caf::weak_actor_ptr(proxy.get());
  remote(proxy).set_keeper(self);
  self->watch(place);
  return proxy;
}

void SpawnedActor::watch(const PlacePtr& place) {
  runtime_->actor_port()->watch(
    place, [weak = weak_from_this()](const std::optional<caf::error>& reason) {
      if (auto self = weak.lock())
        self->ended(reason);
    });
}

void SpawnedActor::ended(const std::optional<caf::error>& reason) {
  auto proxy = this->proxy();
  if (!proxy)
    return;
  if (!reason) { // The job was lost. The manager knows whether there is another.
    remote(proxy).drop_place();
    return find(false);
  }
  auto was = [&](caf::exit_reason expected) { return *reason == expected; };
  auto wanted = was(caf::exit_reason::user_shutdown) || was(caf::exit_reason::kill);
  auto normal = !*reason || was(caf::exit_reason::normal);
  auto again = !wanted && (restart_ == Restart::permanent ||
                           (restart_ == Restart::transient && !normal));
  if (!again)
    return finish(*reason);
  if (!restarts_.add(std::chrono::steady_clock::now()))
    return finish(named(*reason, "has ended more than " + std::to_string(intensity) +
                                   " times within " + std::to_string(period.count()) +
                                   " s"));
  remote(proxy).drop_place();
  find(true);
}

void SpawnedActor::find(bool to_spawn) {
  std::shared_ptr<Results> answer;
  try {
    answer = to_spawn ? cell_.spawn_again() : cell_.place();
  } catch (const Closed&) {
    return finish(caf::exit_reason::remote_link_unreachable);
  }
  auto look = [weak = weak_from_this(), answer, to_spawn] {
    if (auto self = weak.lock()) {
      answer->wait_index(0, Results::forever);
      self->found(answer->at(0), to_spawn);
    }
  };
  if (runtime_->is_inline()) // The cell runs on the waiting thread.
    runtime_->run_later(look);
  else
    answer->on_end([runtime = runtime_, weak = weak_from_this(), look] {
      if (runtime->run_later(look))
        return;
      if (auto self = weak.lock()) // The session is ending.
        self->finish(caf::exit_reason::remote_link_unreachable);
    });
}

void SpawnedActor::found(const RawOutcome& answer, bool to_spawn) {
  auto proxy = this->proxy();
  if (!proxy)
    return;
  try {
    auto place = place_in(answer);
    if (!place)
      return finish(caf::exit_reason::remote_link_unreachable);
    remote(proxy).set_place(place);
    watch(place);
  } catch (const WorkerLost& lost) {
    if (to_spawn) // It may have spawned it, and a restarted job spawns it by itself.
      return find(false);
    finish(named(caf::exit_reason::remote_link_unreachable,
                 "has lost its job for good: " + lost.reason()));
  } catch (const std::exception& error) {
    finish(named(caf::sec::runtime_error,
                 std::string("could not start again: ") + error.what()));
  }
}

caf::error SpawnedActor::named(caf::error reason, const std::string& text) const {
  if (!reason || !reason.context().empty())
    return reason;
  return make_error(reason.code(), reason.category(),
                    caf::make_message(name_ + " " + text));
}

void SpawnedActor::finish(const caf::error& reason) {
  if (auto proxy = this->proxy())
    remote(proxy).kill_proxy(nullptr, reason);
  runtime_->run_later([manager = manager_] { manager->shutdown(); });
}

} // namespace fiber::detail
