// SPDX-License-Identifier: Apache-2.0
#include "libfiber/supervision/supervised_group.hpp"

#include <utility>

#include "actors/manager/supervised_job.hpp"
#include "base/exit_of.hpp"
#include "base/log.hpp"
#include "base/what.hpp"
#include "libfiber/objects/object_jobs.hpp"
#include "libfiber/session/runtime.hpp"

namespace fiber::detail {
namespace {

constexpr std::chrono::seconds job_stop_limit{20}; ///< The job exits by itself after 5 s.
constexpr double one_cpu = 1 + 1e-9; ///< Tolerates rounding in sums of fractions.

std::exception_ptr why_not_started(const std::exception_ptr& problem) {
  try {
    if (problem)
      std::rethrow_exception(problem);
  } catch (const WorkerLost& lost) {
    return std::make_exception_ptr(
      WorkerLost("the job was lost before the object was made: " + lost.reason(),
                 exit_of(lost), lost.reason(), lost.last_words()));
  } catch (...) { // Any other problem explains itself.
  }
  return problem;
}

} // namespace

bool shares_a_job(const SpawnOptions& options) {
  auto& asks = options.resources;
  return asks.cpu < 1 && asks.memory_mb == 0 && asks.gpu == 0;
}

SupervisedGroup::SupervisedGroup(const ObjectPlace& place,
                                 std::shared_ptr<actors::ObjectHandle> control,
                                 std::shared_ptr<actors::ManagedObjects> objects,
                                 std::string name, const SpawnOptions& options)
  : ControlCore(place, std::move(control)), objects_(std::move(objects)),
    name_(std::move(name)), restart_(options.restart), shared_(shares_a_job(options)),
    used_(options.resources.cpu) {}

std::shared_ptr<SupervisedGroup> SupervisedGroup::make(const ObjectPlace& place,
                                                       const std::string& name,
                                                       const SpawnOptions& options) {
  auto objects = std::make_shared<actors::ManagedObjects>(place.objects, true);
  auto control = objects->open();
  std::shared_ptr<SupervisedGroup> group(
    new SupervisedGroup(place, control, objects, name, options));
  if (!place.runtime->is_inline()) {
    auto resources = group->shared_ ? Resources{} : options.resources;
    group->starter_ = starter_of_object_jobs(*place.runtime, resources,
                                             place.runtime->next_process(), name);
  }
  return group;
}

bool SupervisedGroup::reserve(const SpawnOptions& options) {
  auto fits =
    shared_ && options.restart == restart_ && used_ + options.resources.cpu <= one_cpu;
  if (fits)
    used_ += options.resources.cpu;
  return fits;
}

std::shared_ptr<actors::ObjectHandle> SupervisedGroup::add(const PackedItem& recipe) {
  return objects_->add(Payload(recipe.bytes), recipe.kept);
}

// -- start, restart and end --

actors::ChildSpec
SupervisedGroup::spec(std::function<void(const caf::error& why)> forgotten) {
  auto self = std::static_pointer_cast<SupervisedGroup>(shared_from_this());
  return {.name = name_,
          .restart = restart_,
          .start = [self](caf::event_based_actor* by) { return self->start(by); },
          .stop_limit = job_stop_limit,
          .announces = true,
          .forgotten = std::move(forgotten)};
}

caf::actor SupervisedGroup::start(caf::event_based_actor* supervisor) {
  auto news = std::make_shared<actors::ProcessNews>();
  {
    std::lock_guard lock(mutex_);
    ++starts_;
    news_ = news;
  }
  auto self = std::static_pointer_cast<SupervisedGroup>(shared_from_this());
  actors::SupervisedJobSettings life; // Without braces, of which g++ 12 warns at -O3.
  life.job.name = name_;
  life.job.objects = objects_;
  life.job.control = held_;
  life.job.start = starter_;
  life.news = std::move(news);
  life.up = [self] { self->up(); };
  life.down = [self](const std::exception_ptr& why) { self->down(why); };
  return actors::spawn_supervised_job(supervisor, std::move(life));
}

void SupervisedGroup::start_here() {
  auto& runtime = place_.runtime;
  host_ = std::make_shared<actors::ObjectHost>(1, place_.objects, nullptr);
  runtime->add_object_host(host_);
  objects_->ready(place_.objects->add(host_));
  up();
}

void SupervisedGroup::up() {
  std::vector<std::function<void()>> hooks;
  {
    std::lock_guard lock(mutex_);
    if (++ups_ > 1)
      hooks = hooks_;
  }
  started_.set(nullptr);
  for (auto& hook : hooks)
    place_.runtime->run_later([hook = std::move(hook)] {
      try {
        hook();
      } catch (const std::exception& error) {
        log().warn("a function of on_restart threw: {}", what_of(error));
      } catch (...) {
        log().warn("a function of on_restart threw");
      }
    });
}

void SupervisedGroup::down(const std::exception_ptr& why) {
  std::lock_guard lock(mutex_);
  news_ = nullptr;
  if (why)
    problem_ = why;
}

std::exception_ptr SupervisedGroup::await_start() {
  actors::ObjectHost::Pause pause;
  started_.wait_until(Clock::time_point::max());
  return started_.value();
}

void SupervisedGroup::finish(const std::exception_ptr& why) {
  if (why)
    objects_->give_up(why);
  else
    objects_->end([] {});
  if (host_)
    while (!host_->destroy_stopped() && place_.runtime->run_one())
      ;
  auto closed = std::make_exception_ptr(Closed("the supervisor has ended"));
  auto own = why_not_started(problem());
  started_.set(own ? own : why ? why : closed);
}

// -- state --

std::exception_ptr SupervisedGroup::problem() const {
  std::lock_guard lock(mutex_);
  return problem_;
}

void SupervisedGroup::on_restart(std::function<void()> f) {
  std::lock_guard lock(mutex_);
  hooks_.push_back(std::move(f));
}

ChildInfo SupervisedGroup::info() const {
  ChildInfo info;
  info.alive = objects_->is_up();
  std::lock_guard lock(mutex_);
  info.restarts = std::max(0, starts_ - 1);
  if (problem_)
    info.last_error = actors::in_words(problem_);
  if (news_ && news_->job.is_set())
    info.job = news_->job.value();
  return info;
}

void SupervisedGroup::fail_closed() const {
  place_.check_open();
  throw Closed("the supervisor has ended");
}

} // namespace fiber::detail
