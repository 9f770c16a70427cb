// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "actors/manager/managed_objects.hpp"
#include "actors/protocol/node_protocol.hpp"
#include "base/exit_of.hpp"
#include "base/failure.hpp"
#include "fiber/error.hpp"

// How objects are remade when a host comes, and how calls end when it is lost.

namespace fiber::actors {
namespace {

using detail::ObjectOp;

/// Returns the request to stop a host with all its objects; see ObjectOp::stop.
Payload stop_request(bool at_once) {
  Bytes bytes;
  Writer writer(bytes);
  writer.put(std::uint64_t{0});
  writer.put(ObjectOp::stop);
  writer.put(at_once);
  return Payload(std::move(bytes));
}

/// Returns the error that callers of a lost host's objects get.
std::exception_ptr as_lost_call(const std::exception_ptr& why) {
  try {
    std::rethrow_exception(why);
  } catch (const WorkerLost& lost) {
    return std::make_exception_ptr(WorkerLost(
      "the job of the object was lost, and the call may have run: " + lost.reason(),
      exit_of(lost), lost.reason(), lost.last_words()));
  } catch (...) {
    return why;
  }
}

} // namespace

void ManagedObjects::ready(std::shared_ptr<ObjectHandle> host) {
  auto first = false, late = false;
  {
    std::lock_guard lock(mutex_);
    late = state_ == State::ended || (state_ == State::stopping && !host_);
    if (state_ == State::waiting && host) {
      host_ = host;
      first = ++host_count_ == 1;
      state_ = State::restoring;
    } else if (!late || !host) {
      return;
    }
  }
  if (late) {
    space_->ask(host->held_id(), AskKind::call, stop_request(true), {},
                [host](std::uint64_t, const auto&) {});
    return;
  }
  remake(first);
}

void ManagedObjects::remake(bool first) {
  auto op = first ? ObjectOp::create : ObjectOp::remake;
  std::vector<Recipe> recipes;
  std::shared_ptr<ObjectHandle> to;
  std::uint64_t host = 0;
  {
    std::lock_guard lock(mutex_);
    to = host_;
    for (auto& [number, recipe] : recipes_)
      recipes.push_back(
        {recipe.position, recipe_of(number, op, recipe.body), recipe.kept});
    to_remake_ = recipes.size();
    host = host_count_;
  }
  std::ranges::sort(recipes, {}, &Recipe::position);
  for (auto& recipe : recipes)
    ask_host(
      to, recipe.body, recipe.kept,
      [self = shared_from_this(), host](std::uint64_t, const ObjectAnswer& answer) {
        self->remade(host, answer);
      });
  if (recipes.empty())
    restore();
}

void ManagedObjects::remade(std::uint64_t host, const ObjectAnswer& answer) {
  {
    std::lock_guard lock(mutex_);
    if (host != host_count_ || state_ != State::restoring || to_remake_ == 0)
      return;
    auto failed = answer.what == Answer::failed;
    to_remake_ = failed ? 0 : to_remake_ - (answer.what == Answer::done ? 1 : 0);
    if (!failed && (answer.what != Answer::done || to_remake_ > 0))
      return;
  }
  if (answer.what == Answer::done)
    return restore();
  Reader reader(answer.body.bytes());
  tell(&Watcher::failed, std::make_exception_ptr(RemoteError(read_failure(reader))));
}

void ManagedObjects::restore() {
  AnyCallable restore;
  std::shared_ptr<ObjectHandle> to;
  std::uint64_t host = 0;
  {
    std::lock_guard lock(mutex_);
    to = host_;
    host = host_count_;
    if (host > 1)
      restore = restore_;
    to_remake_ = 1; // The restore callable has to answer.
  }
  if (!restore)
    return release_waiting();
  auto body = head_of(0, ObjectOp::restore);
  Writer writer(body);
  detail::pack_code(writer, detail::code_of(restore.open()), detail::CodeKind::open);
  writer.raw(restore.state().bytes().data(), restore.state().size());
  ask_host(to, Payload(std::move(body)), {},
           [self = shared_from_this(), host](std::uint64_t, const ObjectAnswer& answer) {
             if (answer.what != Answer::done)
               return self->remade(host, answer);
             self->release_waiting();
           });
}

/// Passes on the waiting calls. Calls that come meanwhile queue behind them.
void ManagedObjects::release_waiting() {
  for (;;) {
    std::map<Turn, Waiting>::node_type first;
    {
      std::lock_guard lock(mutex_);
      if (state_ != State::restoring)
        return;
      if (waiting_.empty()) {
        state_ = State::up;
        break;
      }
      first = waiting_.extract(waiting_.begin());
    }
    handle(first.key(), std::move(first.mapped().ask));
  }
  tell(&Watcher::up);
}

void ManagedObjects::lost(const std::exception_ptr& why, bool last) {
  lose_host(as_lost_call(why), last);
}

void ManagedObjects::give_up(const std::exception_ptr& why) {
  lose_host(why, true);
}

void ManagedObjects::lose_host(const std::exception_ptr& why, bool last) {
  std::map<Turn, Lost> lost;
  std::map<Turn, Waiting> waiting;
  std::shared_ptr<ObjectHandle> host;
  {
    std::lock_guard lock(mutex_);
    if (state_ == State::ended)
      return;
    why_ = why;
    lost.swap(lost_);
    host.swap(host_);
    state_ = last ? State::lost : State::waiting;
    if (last)
      waiting.swap(waiting_);
    else
      std::erase_if(lost, [&](auto& each) {
        auto& [turn, call] = each;
        if (call.retry)
          waiting_[turn] = {std::move(*call.retry), true};
        return call.retry.has_value();
      });
  }
  for (auto& [turn, call] : lost)
    answer_lost(call.who);
  for (auto& [turn, call] : waiting)
    answer_lost(call.ask.who);
}

bool ManagedObjects::stop(const std::exception_ptr& why, bool restarting) {
  {
    std::lock_guard lock(mutex_);
    if (state_ == State::lost || state_ == State::ended)
      return false;
    state_ = State::stopping;
    restarting_ = restarting;
    why_ = as_lost_call(why);
    if (!host_)
      return false;
  }
  ask_host(host(), stop_request(restarting), {}, [](std::uint64_t, const auto&) {});
  return true;
}

void ManagedObjects::end(std::function<void()> asked) {
  std::map<Turn, Lost> lost;
  std::map<Turn, Waiting> waiting;
  std::unordered_map<std::uint64_t, Recipe> recipes;
  AnyCallable restore;
  {
    std::lock_guard lock(mutex_);
    state_ = State::ended;
    lost.swap(lost_);
    waiting.swap(waiting_);
    recipes.swap(recipes_);
    std::swap(restore, restore_);
  }
  for (auto& [turn, call] : lost)
    space_->answer(call.who, {});
  for (auto& [turn, call] : waiting)
    space_->answer(call.ask.who, {});
  ask_host(host(), stop_request(false), {},
           [asked = std::move(asked)](std::uint64_t, const auto&) { asked(); });
}

// -- the watcher --

std::uint64_t ManagedObjects::watch(Watcher watcher) {
  std::lock_guard lock(mutex_);
  std::swap(watcher_, watcher);
  return ++watcher_count_;
}

void ManagedObjects::unwatch(std::uint64_t number) {
  Watcher last;
  std::lock_guard lock(mutex_);
  if (number == watcher_count_)
    std::swap(watcher_, last);
}

bool ManagedObjects::is_up() const {
  std::lock_guard lock(mutex_);
  return state_ == State::up;
}

ManagedObjects::Glance ManagedObjects::glance() const {
  std::lock_guard lock(mutex_);
  Glance seen{.state = state_ == State::up      ? Glance::State::up
                       : state_ == State::lost  ? Glance::State::lost
                       : state_ == State::ended ? Glance::State::ended
                                                : Glance::State::starting,
              .calls = calls_,
              .running = passed_on_.size(),
              .waiting = waiting_.size(),
              .restarts = host_count_ - std::min<std::uint64_t>(host_count_, 1)};
  for (auto& [number, maker] : makers_)
    ++seen.objects[maker];
  return seen;
}

} // namespace fiber::actors
