// SPDX-License-Identifier: Apache-2.0
#include "libfiber/manager_core.hpp"

#include <utility>

#include "actors/manager_actor.hpp"
#include "actors/process_trace.hpp"
#include "libfiber/ref_core.hpp"
#include "libfiber/resource_check.hpp"

namespace fiber {
namespace detail {

std::shared_ptr<ManagerCore> ManagerCore::make(const ManagerOptions& options) {
  check_resources(options.resources, "ManagerOptions");
  if (options.threads == 0)
    throw ConfigError("threads", "ManagerOptions", "1 or more", "0 threads run nothing");
  auto place = ObjectPlace::of(Runtime::require());
  // Both are told of each other: the objects are there first.
  auto actor = std::make_shared<caf::actor>();
  auto failed = [actor, weak = std::weak_ptr(place.runtime)](std::exception_ptr why) {
    if (auto runtime = weak.lock())
      try {
        runtime->post(*actor, actors::ManagerJobFailed{std::move(why)});
      } catch (const Closed&) { // Then it ends anyhow.
      }
  };
  auto objects = std::make_shared<actors::ManagedObjects>(
    place.objects, options.restart != Restart::temporary, std::move(failed));
  if (options.restore)
    objects->set_restore(options.restore);
  auto control = objects->open();
  std::shared_ptr<ManagerCore> core(new ManagerCore(place, control, objects, actor));
  core->start(options);
  return core;
}

void ManagerCore::start(const ManagerOptions& options) {
  auto& runtime = place_.runtime;
  if (runtime->is_inline()) {
    host_ =
      std::make_shared<actors::ObjectHost>(options.threads, place_.objects, nullptr);
    runtime->run_calls_of(host_);
    objects_->ready(place_.objects->add(host_));
    return;
  }
  auto services = runtime->services();
  auto job = std::make_shared<actors::NodeTemplate>();
  auto& has = options.resources;
  job->resources = {has.cpu, has.memory_mb, has.gpu};
  job->use = actors::NodeUse::future;
  job->max_retries = 0; // So chaos lets it live.
  auto number = runtime->next_process();
  auto name = "Manager-" + std::to_string(number);
  std::shared_ptr<actors::ProcessTrace> trace;
  if (services->trace)
    trace = std::make_shared<actors::ProcessTrace>(services->trace, number, name);
  auto start_job = [services, job, trace](caf::event_based_actor* manager, std::string of,
                                          std::shared_ptr<const actors::Batch> task,
                                          std::function<void()> ended) {
    return actors::spawn_process(
      manager->system(),
      {.name = std::move(of),
       .task = std::move(task),
       .start_node =
         [services, job](caf::event_based_actor* parent, const caf::actor& process,
                         const actors::NodeOrder& order) {
           return actors::spawn_node_link(parent, services, job, process, order);
         },
       .backend = services->backend,
       .trace = trace,
       .ended = std::move(ended)});
  };
  runtime->enlist(std::static_pointer_cast<ManagerCore>(shared_from_this()));
  runtime->spawn_manager({.name = std::move(name),
                          .restart = options.restart,
                          .threads = options.threads,
                          .objects = objects_,
                          .control = held_,
                          .start_job = std::move(start_job),
                          .ended = ended_},
                         *actor_);
}

void ManagerCore::fail_closed() const {
  place_.check_open();
  throw Closed("the manager has ended");
}

ObjectRef ManagerCore::create(PackedItem recipe) {
  auto asked = ask(actors::AskKind::call, std::move(recipe), Results::forever);
  auto& answer = asked->answer;
  if (answer.what == actors::Answer::closed)
    fail_closed();
  std::shared_ptr<actors::ObjectHandle> made;
  if (answer.what == actors::Answer::value && !answer.kept.empty())
    made = place_.objects->handle(answer.kept.front()->held_id());
  if (made)
    return ObjectRef(RefCore::of(place_, made));
  answer.kept.clear();
  auto outcome =
    outcome_of_call(*place_.objects, id(), asked->request, std::move(answer));
  if (outcome.error)
    std::rethrow_exception(outcome.error);
  fail_closed();
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
  if (host_) {
    objects_->end([] {});
    while (!host_->destroy_stopped() && place_.runtime->run_one())
      ;
    return;
  }
  try {
    place_.runtime->tell(*actor_, actors::EndManager{});
  } catch (const Closed&) { // With which it ends.
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

Manager::Manager(ManagerOptions options) : core_(detail::ManagerCore::make(options)) {}
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
  return core_->create(std::move(recipe));
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
