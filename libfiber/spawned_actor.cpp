// SPDX-License-Identifier: Apache-2.0
#include "libfiber/spawned_actor.hpp"

#include <chrono>
#include <utility>

#include "actors/remote_actor.hpp"
#include "fiber/error.hpp"

namespace fiber::detail {
namespace {

constexpr int intensity = 5;
constexpr std::chrono::seconds period{10};
/// A manager that is lost for good says the same as one that was lost just now.
constexpr int most_lost_in_a_row = 2 * (intensity + 1);

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
  : runtime_(std::move(runtime)), restart_(options.restart),
    manager_(std::make_shared<Manager>(std::move(manager))), cell_(std::move(cell)),
    restarts_(intensity, period) {}

SpawnedActor::~SpawnedActor() {
  // It waits for the job, which no thread may that brings messages.
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
  auto proxy = self->runtime_->actor_port()->spawned(place);
  self->proxy_ = caf::weak_actor_ptr(proxy.get());
  remote(proxy).keep(self);
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
  if (!reason && restart_ == Restart::temporary)
    return finish(caf::exit_reason::remote_link_unreachable);
  if (!reason) {
    remote(proxy).displaced();
    return find(cell_.place);
  }
  auto was = [&](caf::exit_reason expected) { return *reason == expected; };
  auto wanted = was(caf::exit_reason::user_shutdown) || was(caf::exit_reason::kill);
  auto normal = !*reason || was(caf::exit_reason::normal);
  auto again = !wanted && (restart_ == Restart::permanent ||
                           (restart_ == Restart::transient && !normal));
  if (!again || !restarts_.add(std::chrono::steady_clock::now()))
    return finish(*reason);
  remote(proxy).displaced();
  find(cell_.spawn_again);
}

void SpawnedActor::find(const std::function<std::shared_ptr<Results>()>& ask) {
  std::shared_ptr<Results> answer;
  try {
    answer = ask();
  } catch (const Closed&) {
    return finish(caf::exit_reason::remote_link_unreachable);
  }
  auto look = [weak = weak_from_this(), answer] {
    if (auto self = weak.lock()) {
      answer->wait_index(0, Results::forever);
      self->found(answer->at(0));
    }
  };
  if (runtime_->is_inline()) // Its cell runs on a thread that waits for it.
    runtime_->run_later(look);
  else
    answer->on_end([runtime = runtime_, weak = weak_from_this(), look] {
      if (runtime->run_later(look))
        return;
      if (auto self = weak.lock()) // The session ends.
        self->finish(caf::exit_reason::remote_link_unreachable);
    });
}

void SpawnedActor::found(const RawOutcome& answer) {
  auto proxy = this->proxy();
  if (!proxy)
    return;
  try {
    auto place = place_in(answer);
    if (!place)
      return finish(caf::exit_reason::remote_link_unreachable);
    lost_in_a_row_ = 0;
    remote(proxy).moved(place);
    watch(place);
  } catch (const WorkerLost&) {
    if (++lost_in_a_row_ > most_lost_in_a_row)
      return finish(caf::exit_reason::remote_link_unreachable);
    find(cell_.place);
  } catch (const std::exception& error) {
    finish(caf::make_error(caf::sec::runtime_error, std::string(error.what())));
  }
}

void SpawnedActor::finish(const caf::error& reason) {
  if (auto proxy = this->proxy())
    remote(proxy).kill_proxy(nullptr, reason);
  runtime_->run_later([manager = manager_] { manager->shutdown(); });
}

} // namespace fiber::detail
