// SPDX-License-Identifier: Apache-2.0
#include "libfiber/manager/manager_core.hpp"

#include <utility>

#include "actors/manager/manager_actor.hpp"
#include "base/forked_child.hpp"
#include "libfiber/manager/manager_part.hpp"
#include "libfiber/manager/ref_core.hpp"
#include "libfiber/objects/object_jobs.hpp"
#include "libfiber/session/resource_check.hpp"

namespace fiber {
namespace detail {

std::shared_ptr<ManagerCore> ManagerCore::make(ManagerOptions options) {
  check_resources(options.resources, "ManagerOptions");
  if (options.threads == 0)
    throw ConfigError("threads", "ManagerOptions", "1 or more", "0 threads run nothing");
  auto place = ObjectPlace::of(Runtime::require());
  auto objects = std::make_shared<actors::ManagedObjects>(
    place.objects, options.restart != Restart::temporary);
  if (options.restore)
    objects->set_restore(std::move(options.restore));
  auto control = objects->open();
  std::shared_ptr<ManagerCore> core(new ManagerCore(place, control, objects));
  core->start(std::move(options));
  return core;
}

void ManagerCore::start(ManagerOptions options) {
  auto& runtime = place_.runtime;
  auto show = [&](const std::string& name) {
    runtime->view().add(std::make_shared<ManagerPart>(name, objects_));
  };
  if (runtime->is_inline()) {
    show(options.name.empty() ? "Manager" : options.name);
    host_ =
      std::make_shared<actors::ObjectHost>(options.threads, place_.objects, nullptr);
    runtime->add_object_host(host_);
    objects_->ready(place_.objects->add(host_));
    return;
  }
  auto number = runtime->next_process();
  auto name =
    options.name.empty() ? "Manager-" + std::to_string(number) : std::move(options.name);
  show(name);
  auto start = starter_of_object_jobs(*runtime, options.resources, number, name);
  runtime->enlist(std::static_pointer_cast<ManagerCore>(shared_from_this()));
  runtime->spawn("manager", actor_, [&](caf::actor_system& system) {
    return actors::spawn_manager(system, {.job = {.name = std::move(name),
                                                  .threads = options.threads,
                                                  .objects = objects_,
                                                  .control = held_,
                                                  .start = std::move(start)},
                                          .restart = options.restart,
                                          .ended = ended_});
  });
}

void ManagerCore::fail_closed() const {
  place_.check_open();
  throw Closed("the manager has ended");
}

ObjectRef ManagerCore::create_object(PackedItem recipe) {
  return ObjectRef(RefCore::of(place_, create(std::move(recipe))));
}

void ManagerCore::set_restore(AnyCallable restore) {
  place_.check_open();
  objects_->set_restore(std::move(restore));
}

void ManagerCore::check_open() const {
  if (over_)
    fail_closed();
  place_.check_open();
}

void ManagerCore::shutdown() {
  over_ = true;
  if (is_forked_child()) // The manager is the parent's.
    return;
  if (host_) {
    objects_->end([] {});
    while (!host_->destroy_stopped() && place_.runtime->run_one())
      ;
    return;
  }
  try {
    place_.runtime->tell(actor_, actors::EndManager{});
  } catch (const Closed&) { // The session has ended, and the manager with it.
    return;
  }
  actors::ObjectHost::Pause pause;
  ended_->wait_until(Clock::time_point::max());
}

void begin_create(Writer& writer) {
  writer.put(std::uint64_t{0});
  writer.put(ObjectOp::create);
}

} // namespace detail

Manager::Manager(ManagerOptions options)
  : core_(detail::ManagerCore::make(std::move(options))) {}
Manager::Manager(Manager&&) noexcept = default;

Manager& Manager::operator=(Manager&& other) noexcept {
  if (this != &other) {
    if (core_)
      core_->shutdown();
    core_ = std::move(other.core_);
  }
  return *this;
}

Manager::~Manager() {
  if (core_)
    core_->shutdown();
}

detail::ObjectRef Manager::create_object(detail::PackedItem recipe) {
  return core_->create_object(std::move(recipe));
}

void Manager::check_open() const {
  core_->check_open();
}

void Manager::set_restore(AnyCallable restore) {
  core_->set_restore(std::move(restore));
}

void Manager::shutdown() {
  core_->shutdown();
}

} // namespace fiber
