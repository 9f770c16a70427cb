// SPDX-License-Identifier: Apache-2.0
#include "libfiber/supervision/supervisor_core.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <utility>

#include "actors/core/exit.hpp"
#include "base/bounded_time.hpp"
#include "base/demangle.hpp"
#include "base/exit_of.hpp"
#include "fiber/detail/type_identity.hpp"
#include "libfiber/manager/ref_core.hpp"
#include "libfiber/session/name_table.hpp"
#include "libfiber/session/resource_check.hpp"
#include "libfiber/supervision/supervisor_part.hpp"

namespace fiber::detail {
namespace {

void check(const SupervisorOptions& options) {
  auto refuse = [](const char* key, const char* valid, const std::string& problem) {
    throw ConfigError(key, "SupervisorOptions", valid, problem + " can't be used");
  };
  auto& wait = options.backoff;
  if (options.intensity < 0)
    refuse("intensity", "0 or more", std::to_string(options.intensity));
  if (options.period.count() <= 0)
    refuse("period", "more than 0", std::to_string(options.period.count()) + " s");
  if (wait.first.count() < 0 || wait.most.count() < 0 || !(wait.factor >= 1) ||
      !(wait.jitter >= 0 && wait.jitter <= 1))
    refuse("backoff", "waits of 0 or more, a factor of 1 or more, a jitter of 0 to 1",
           "this one");
}

SupervisorOptions with_bounded_times(SupervisorOptions options) {
  options.period = bounded(options.period);
  return options;
}

/// Returns the error that callers of a child get once it is not restarted any more.
std::exception_ptr gone_for_good(const std::string& text,
                                 const std::exception_ptr& last) {
  std::optional<int> exit;
  LastWords words;
  try {
    if (last)
      std::rethrow_exception(last);
  } catch (const WorkerLost& lost) {
    exit = exit_of(lost);
    words = lost.last_words();
  } catch (...) { // The text suffices.
  }
  return std::make_exception_ptr(WorkerLost(text, exit, text, std::move(words)));
}

/// Returns the type's name without namespaces and template arguments.
std::string short_name(const std::type_info& type) {
  auto name = demangle(type.name());
  name = name.substr(0, name.find('<'));
  auto at = name.rfind("::");
  return at == name.npos ? name : name.substr(at + 2);
}

} // namespace

// -- start --

SupervisorCore::SupervisorCore(ObjectPlace place, const SupervisorOptions& options,
                               const CorePtr& above)
  : place_(std::move(place)), options_(with_bounded_times(options)), above_(above),
    name_("Supervisor#" + std::to_string(place_.runtime->next_process())) {}

std::shared_ptr<SupervisorCore> SupervisorCore::make(const SupervisorOptions& options) {
  check(options);
  auto place = ObjectPlace::of(Runtime::require());
  CorePtr core(new SupervisorCore(place, options, nullptr));
  place.runtime->enlist(core);
  place.runtime->view().add(std::make_shared<SupervisorPart>(core));
  core->start();
  return core;
}

void SupervisorCore::start() {
  std::lock_guard lock(mutex_);
  starts_ = 1;
  alive_ = true;
  has_started_.set(true);
  if (place_.runtime->is_inline())
    return;
  place_.runtime->spawn("supervisor", actor_, [&](caf::actor_system& system) {
    auto actor = actors::spawn_supervisor(system, config_locked());
    actor->attach_functor([core = weak_from_this()](const caf::error& why) {
      if (auto self = core.lock())
        self->end(
          actors::exit_kind(why) == actors::ExitKind::planned
            ? nullptr
            : gone_for_good("the supervisor has given up: " + actors::exit_text(why),
                            nullptr));
    });
    return actor;
  });
}

std::shared_ptr<SupervisorCore> SupervisorCore::nested(const SupervisorOptions& options) {
  check(options);
  CorePtr core(new SupervisorCore(place_, options, shared_from_this()));
  place_.runtime->enlist(core);
  Child child;
  child.name = core->name_;
  child.nested = core;
  {
    std::lock_guard lock(mutex_);
    check_open_locked();
    if (place_.runtime->is_inline())
      core->start();
    else
      place_.runtime->post(actor_, actors::StartChild{spec_of(core)});
    children_.push_back(std::move(child));
  }
  actors::ObjectHost::Pause pause;
  core->has_started_.wait_until(ObjectPlace::Clock::time_point::max());
  return core;
}

actors::SupervisorConfig SupervisorCore::config_locked() {
  actors::SupervisorConfig config{.name = name_,
                                  .strategy = options_.strategy,
                                  .intensity = options_.intensity,
                                  .period = options_.period,
                                  .backoff = options_.backoff,
                                  .seed = std::random_device()(),
                                  .count_blameless = true};
  for (auto& child : children_) {
    if (child.nested) {
      config.children.push_back(spec_of(child.nested));
      continue;
    }
    auto known = std::ranges::any_of(
      config.children, [&](auto& spec) { return spec.name == child.group->name(); });
    if (!known)
      config.children.push_back(spec_of(child.group));
  }
  return config;
}

/// Starts the actor of a nested supervisor. Its parent calls this at each restart.
caf::actor SupervisorCore::start_actor(caf::actor_system& system) {
  std::vector<CorePtr> stopped;
  caf::actor actor;
  {
    std::lock_guard lock(mutex_);
    stopped.swap(stopped_);
    ++starts_;
    alive_ = true;
    actor = actors::spawn_supervisor(system, config_locked());
    std::lock_guard last(release_);
    if (!released_) // Otherwise the session is ending all actors.
      actor_ = actor;
  }
  has_started_.set(true);
  for (auto& core : stopped) // The previous actor ended before it had stopped them.
    core->end(nullptr);
  actor->attach_functor([core = weak_from_this()](const caf::error& why) {
    if (auto self = core.lock())
      self->actor_ended(why);
  });
  return actor;
}

void SupervisorCore::actor_ended(const caf::error& why) {
  std::lock_guard lock(mutex_);
  alive_ = false;
  if (actors::exit_kind(why) != actors::ExitKind::planned)
    last_error_ = actors::exit_text(why);
}

actors::ChildSpec SupervisorCore::spec_of(const GroupPtr& group) {
  return group->spec([core = weak_from_this(), group](const caf::error& why) {
    if (auto self = core.lock())
      self->forget(group, why);
  });
}

actors::ChildSpec SupervisorCore::spec_of(const CorePtr& core) {
  return {
    .name = core->name_,
    .start =
      [core](caf::event_based_actor* by) { return core->start_actor(by->system()); },
    .stop_limit = actors::ChildSpec::no_limit,
    .forgotten =
      [above = weak_from_this(), core](const caf::error& why) {
        if (auto self = above.lock())
          self->forget(core, actors::exit_kind(why) == actors::ExitKind::planned
                               ? nullptr
                               : gone_for_good(actors::exit_text(why), nullptr));
      }};
}

// -- adding children --

ObjectRef SupervisorCore::spawn(const SpawnOptions& options, const std::type_info& type,
                                const PackedItem& recipe) {
  check_resources(options.resources, "SpawnOptions");
  for (;;) {
    // Children that are spawned at the same time share a job, too.
    std::unique_lock searching(searching_, std::defer_lock);
    if (shares_a_job(options) && !place_.runtime->is_inline())
      searching.lock();
    auto child = reserve(options, type);
    auto own = !child.group;
    try {
      if (own)
        return start_group(std::move(child), options, type, recipe, std::move(searching));
      if (searching)
        searching.unlock();
      if (!child.group->await_start()) {
        auto object = child.group->create(recipe);
        return add(std::move(child), type, object);
      }
      // That group's first child could not start its job: try again elsewhere.
    } catch (...) {
      if (!options.name.empty())
        place_.runtime->names().remove(options.name);
      if (!own) {
        std::lock_guard lock(mutex_);
        child.group->give_back(options);
      }
      throw;
    }
    if (!options.name.empty())
      place_.runtime->names().remove(options.name);
  }
}

/// Reserves a name and, if one has room, a place in a group.
SupervisorCore::Child SupervisorCore::reserve(const SpawnOptions& options,
                                              const std::type_info& type) {
  std::lock_guard lock(mutex_);
  check_open_locked();
  Child child;
  child.name = options.name;
  child.named = !child.name.empty();
  while (!child.named && (child.name.empty() || is_taken_locked(child.name)))
    child.name = short_name(type) + "#" + std::to_string(place_.runtime->next_process());
  if (child.named &&
      (is_taken_locked(child.name) || !place_.runtime->names().reserve(child.name)))
    throw ConfigError("name", "SpawnOptions",
                      "a name that no other child in the session has",
                      "there is a child \"" + child.name + "\" already");
  if (shares_a_job(options) && !place_.runtime->is_inline())
    child.group = room_for(options);
  return child;
}

SupervisorCore::GroupPtr SupervisorCore::room_for(const SpawnOptions& options) {
  for (auto& child : children_)
    if (child.group && child.group->reserve(options))
      return child.group;
  return nullptr;
}

bool SupervisorCore::is_taken_locked(const std::string& name) const {
  return std::ranges::any_of(children_, [&](auto& child) {
    return child.name == name || (child.group && child.group->name() == name);
  });
}

ObjectRef SupervisorCore::start_group(Child child, const SpawnOptions& options,
                                      const std::type_info& type,
                                      const PackedItem& recipe,
                                      std::unique_lock<std::mutex> searching) {
  auto name = shares_a_job(options)
                ? "job#" + std::to_string(place_.runtime->next_process())
                : child.name;
  auto group = SupervisedGroup::make(place_, name, options);
  child.group = group;
  if (place_.runtime->is_inline()) {
    group->start_here();
    return add(std::move(child), type, group->create(recipe));
  }
  auto object = group->add(recipe);
  child.object = ObjectRef(RefCore::of(place_, object));
  {
    std::lock_guard lock(mutex_);
    check_open_locked();
    children_.push_back(child);
    place_.runtime->post(actor_, actors::StartChild{spec_of(group), true});
  }
  if (searching)
    searching.unlock();
  if (auto why = group->await_start())
    std::rethrow_exception(why);
  publish(child, type, object);
  return child.object;
}

ObjectRef SupervisorCore::add(Child child, const std::type_info& type,
                              const std::shared_ptr<actors::ObjectHandle>& object) {
  child.object = ObjectRef(RefCore::of(place_, object));
  {
    std::lock_guard lock(mutex_);
    check_open_locked();
    children_.push_back(child);
  }
  publish(child, type, object);
  return child.object;
}

/// Makes a named child visible to find(). Its name is reserved already.
void SupervisorCore::publish(const Child& child, const std::type_info& type,
                             const std::shared_ptr<actors::ObjectHandle>& object) {
  std::lock_guard lock(mutex_);
  auto known = std::ranges::find_if(
    children_, [&](auto& each) { return each.group && each.object == child.object; });
  if (known != children_.end())
    known->published = child.named && place_.runtime->names().set(
                                        child.name, {type_identity(type), object});
  else if (child.named) // The child has ended meanwhile.
    place_.runtime->names().remove(child.name);
}

// -- removing children --

void SupervisorCore::forget_names(const std::vector<Child>& children) {
  for (auto& child : children)
    if (child.published)
      place_.runtime->names().remove(child.name);
}

void SupervisorCore::forget(const GroupPtr& group, const caf::error& why) {
  std::vector<Child> gone;
  {
    std::lock_guard lock(mutex_);
    std::erase_if(children_, [&](auto& child) {
      auto found = child.group == group;
      if (found)
        gone.push_back(std::move(child));
      return found;
    });
  }
  forget_names(gone);
  auto last = group->problem();
  auto well = actors::exit_kind(why) == actors::ExitKind::planned;
  auto text = "\"" + group->name() + "\" is gone for good: " +
              (well ? "its job has ended normally" : actors::exit_text(why));
  group->finish(gone_for_good(text, last));
}

void SupervisorCore::forget(const CorePtr& core, const std::exception_ptr& why) {
  {
    std::lock_guard lock(mutex_);
    std::erase(stopped_, core);
    std::erase_if(children_, [&](auto& child) { return child.nested == core; });
  }
  core->end(why);
}

void SupervisorCore::end(const std::exception_ptr& why) {
  std::vector<Child> children;
  std::vector<CorePtr> stopped;
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(ended_, true))
      return;
    alive_ = false;
    why_ = why;
    children.swap(children_);
    stopped.swap(stopped_);
  }
  forget_names(children);
  GroupPtr last;
  for (auto child = children.rbegin(); child != children.rend(); ++child)
    if (child->nested)
      child->nested->end(why);
    else if (child->group != std::exchange(last, child->group))
      child->group->finish(why);
  for (auto& core : stopped)
    core->end(why);
  has_started_.set(true);
  has_ended_.set(true);
}

void SupervisorCore::stop() {
  auto above = above_.lock();
  try {
    place_.check_open();
    if (place_.runtime->is_inline()) {
      if (above)
        above->forget(shared_from_this(), nullptr);
      else
        end(nullptr);
    } else if (above) {
      std::lock_guard lock(above->mutex_);
      auto& siblings = above->children_;
      auto self = std::ranges::find(siblings, shared_from_this(), &Child::nested);
      if (self != siblings.end()) { // Else it is being stopped, or has ended.
        above->stopped_.push_back(self->nested);
        siblings.erase(self);
        place_.runtime->post(above->actor_, actors::StopChild{name_});
      }
    } else {
      std::lock_guard lock(mutex_);
      place_.runtime->post(actor_, actors::StopSupervisor{});
    }
  } catch (const Closed&) { // The session has ended, and the supervisor with it.
    return;
  }
  actors::ObjectHost::Pause pause;
  has_ended_.wait_until(ObjectPlace::Clock::time_point::max());
}

void SupervisorCore::closing() {
  if (is_root())
    stop();
}

void SupervisorCore::release() {
  // The caller holds the session's gate exclusively. Not mutex_, whose holder may be
  // waiting for the gate.
  std::lock_guard lock(release_);
  released_ = true;
  actor_ = nullptr;
}

// -- state --

void SupervisorCore::check_open() const {
  std::lock_guard lock(mutex_);
  check_open_locked();
}

void SupervisorCore::check_open_locked() const {
  place_.check_open();
  if (ended_ && why_)
    std::rethrow_exception(why_);
  if (ended_)
    throw Closed("the supervisor has ended");
}

void SupervisorCore::on_restart(const ObjectRef& child, std::function<void()> f) {
  std::lock_guard lock(mutex_);
  check_open_locked();
  auto known = std::ranges::find_if(
    children_, [&](auto& each) { return each.group && each.object == child; });
  if (known == children_.end())
    throw Error("on_restart: the Ref is of no child of this supervisor");
  known->group->on_restart(std::move(f));
}

std::vector<ChildInfo> SupervisorCore::children() const {
  std::vector<ChildInfo> all;
  std::lock_guard lock(mutex_);
  for (auto& child : children_) {
    ChildInfo info;
    if (child.group) {
      info = child.group->info();
    } else {
      std::lock_guard inner(child.nested->mutex_);
      info.alive = child.nested->alive_;
      info.restarts = std::max(0, child.nested->starts_ - 1);
      info.last_error = child.nested->last_error_;
    }
    info.name = child.name;
    all.push_back(std::move(info));
  }
  return all;
}

std::vector<SupervisorCore::CorePtr> SupervisorCore::nested_cores() const {
  std::vector<CorePtr> cores;
  std::lock_guard lock(mutex_);
  for (auto& child : children_)
    if (child.nested)
      cores.push_back(child.nested);
  return cores;
}

void begin_spawn(Writer& writer) {
  writer.put(std::uint64_t{0});
  writer.put(ObjectOp::create);
}

} // namespace fiber::detail
