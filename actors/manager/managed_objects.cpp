// SPDX-License-Identifier: Apache-2.0
#include "actors/manager/managed_objects.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "actors/protocol/node_protocol.hpp"
#include "base/code_place.hpp"
#include "base/exit_of.hpp"
#include "base/failure.hpp"
#include "fiber/error.hpp"

namespace fiber::actors {
namespace {

using detail::ObjectOp;

constexpr Asker nobody{UINT64_MAX, 0};

struct Head {
  std::uint64_t number = 0;
  ObjectOp op = ObjectOp::call;
  std::size_t size = sizeof(std::uint64_t) + sizeof(ObjectOp);

  explicit Head(const Payload& body) {
    Reader reader(body.bytes());
    number = reader.get<std::uint64_t>();
    op = reader.get<ObjectOp>();
  }
};

LostCall for_another_process(const std::exception_ptr& why) {
  try {
    std::rethrow_exception(why);
  } catch (const WorkerLost& lost) {
    return {lost.what(), exit_of(lost), lost.reason(), lost.last_log()};
  } catch (const std::exception& error) {
    return {error.what(), std::nullopt, error.what(), {}};
  }
}

/// Throws Error if a call names code of this build that is no entry point for calls.
void check_entry_point(const Payload& body) {
  Reader reader(body.bytes().subspan(Head(body).size));
  if (is_loaded(reader)) // The host may have loaded more.
    detail::unpack_code(reader, detail::CodeKind::call_object);
}

} // namespace

ManagedObjects::ManagedObjects(std::shared_ptr<ObjectSpace> space, bool restartable)
  : space_(std::move(space)), restartable_(restartable) {}

std::shared_ptr<ObjectHandle> ManagedObjects::open() {
  auto control = space_->add(shared_from_this());
  control_ = control->held_id().number;
  return control;
}

Bytes ManagedObjects::head_of(std::uint64_t number, ObjectOp op) {
  Bytes bytes;
  Writer writer(bytes);
  writer.put(number);
  writer.put(op);
  return bytes;
}

Payload ManagedObjects::recipe_of(std::uint64_t number, ObjectOp op,
                                  const Payload& body) {
  auto whole = head_of(number, op);
  auto rest = body.bytes().subspan(Head(body).size);
  whole.insert(whole.end(), rest.begin(), rest.end());
  return Payload(std::move(whole));
}

std::shared_ptr<ObjectHandle> ManagedObjects::add(const Payload& body,
                                                  detail::KeptObjects kept) {
  auto handle = space_->add(shared_from_this());
  auto number = handle->held_id().number;
  auto recipe = recipe_of(number, ObjectOp::create, body);
  auto* maker = maker_of(recipe);
  std::lock_guard lock(mutex_);
  makers_[number] = maker;
  recipes_[number] = {++recipe_count_, std::move(recipe), std::move(kept)};
  return handle;
}

const void* ManagedObjects::maker_of(const Payload& recipe) {
  try {
    Reader reader(recipe.bytes().subspan(Head(recipe).size));
    return detail::unpack_code(reader, detail::CodeKind::make_object);
  } catch (const Error&) { // The host will say so.
    return nullptr;
  }
}

void ManagedObjects::set_restore(AnyCallable restore) {
  std::lock_guard lock(mutex_);
  std::swap(restore_, restore);
}

// -- requests --

void ManagedObjects::asked(ObjectAsk ask) {
  if (ask.what == AskKind::cancel)
    return cancel(ask.who);
  if (ask.what == AskKind::took) {
    detail::KeptObjects last;
    std::lock_guard lock(mutex_);
    last = answers_.took(ask.who);
    return;
  }
  if (ask.what != AskKind::call)
    return space_->refuse(ask.who, "an object of a manager can only be called");
  try {
    Head head(ask.body);
    auto is_control = ask.number == control_;
    if (is_control && head.op == ObjectOp::ready) {
      if (!ask.kept.empty()) {
        auto host = ask.kept.front()->held_id();
        if (host.home != ask.who.process)
          return space_->refuse(ask.who, "a host is ready only in its own job");
        ready(space_->handle(host));
      }
      return space_->answer(ask.who, {.what = Answer::done});
    }
    auto is_call = head.op == ObjectOp::call || head.op == ObjectOp::repeat;
    auto may_be = is_control
                    ? head.op == ObjectOp::create && ask.who.process == space_->self()
                    : is_call && head.number == ask.number;
    if (!may_be)
      return space_->refuse(ask.who, "unknown request to an object of a manager");
  } catch (const std::exception& error) {
    return space_->refuse(ask.who, error.what());
  }
  if (ask.who.process != space_->self())
    check_entry_point(ask.body); // Who names other code is cut off.
  Turn turn = 0;
  {
    std::unique_lock lock(mutex_);
    turn = ++last_turn_;
    calls_ += ask.number == control_ ? 0 : 1;
    auto waits = state_ == State::restoring || state_ == State::stopping;
    if (state_ == State::waiting || (waits && !is_from_host_locked(ask.who))) {
      waiting_[turn].ask = std::move(ask);
      return;
    }
    auto state = state_;
    lock.unlock();
    if (state == State::lost)
      return answer_lost(ask.who);
    if (state == State::ended || state == State::stopping)
      return space_->answer(ask.who, {});
  }
  handle(turn, std::move(ask));
}

bool ManagedObjects::is_from_host_locked(const Asker& who) const {
  return host_ && who.process == host_->held_id().home && who.process != space_->self();
}

void ManagedObjects::freed(std::uint64_t number) {
  ObjectAsk destruction{
    nobody, number,     AskKind::call, Payload(head_of(number, ObjectOp::destroy)),
    {},     Haste::soon};
  Turn turn = 0;
  {
    std::lock_guard lock(mutex_);
    makers_.erase(number);
    if (number == control_ || state_ == State::lost || state_ == State::ended)
      return;
    turn = ++last_turn_;
    if (state_ != State::up) { // Queues behind the waiting calls.
      waiting_[turn].ask = std::move(destruction);
      return;
    }
  }
  handle(turn, std::move(destruction));
}

void ManagedObjects::gone(std::uint64_t process) {
  std::vector<ObjectAsk> asks; // Dropped without the lock, as handles send messages.
  std::vector<detail::KeptObjects> last;
  auto drop = [&](std::optional<ObjectAsk> ask) {
    if (ask)
      asks.push_back(std::move(*ask));
    return true;
  };
  std::lock_guard lock(mutex_);
  std::erase_if(waiting_, [&](auto& each) {
    auto& ask = each.second.ask;
    return ask.who.process == process && drop(std::move(ask));
  });
  std::erase_if(lost_, [&](auto& each) {
    return each.second.who.process == process && drop(std::move(each.second.retry));
  });
  std::erase_if(passed_on_, [&](auto& each) {
    return each.first.process == process && drop(std::move(each.second.retry));
  });
  last = answers_.gone(process);
}

void ManagedObjects::cancel(const Asker& who) {
  std::uint64_t request = 0;
  std::shared_ptr<ObjectHandle> host;
  {
    Waiting last;
    std::unique_lock lock(mutex_);
    auto found = std::ranges::find_if(
      waiting_, [&](auto& each) { return each.second.ask.who == who; });
    if (found != waiting_.end()) {
      last = std::move(found->second);
      waiting_.erase(found);
      lock.unlock();
      if (last.may_have_run)
        return answer_lost(who);
      return space_->answer(who, {.what = Answer::cancelled});
    }
    if (auto known = passed_on_.find(who); known != passed_on_.end())
      request = known->second.request;
    host = host_;
  }
  if (host && request != 0)
    space_->tell(host->held_id(), request, AskKind::cancel);
}

// -- to the host --

std::shared_ptr<ObjectHandle> ManagedObjects::host() const {
  std::lock_guard lock(mutex_);
  return host_;
}

std::uint64_t ManagedObjects::ask_host(const std::shared_ptr<ObjectHandle>& host,
                                       Payload body, detail::KeptObjects kept,
                                       ObjectSpace::Done done, Haste haste) {
  if (host)
    return space_->ask(host->held_id(), AskKind::call, std::move(body), std::move(kept),
                       std::move(done), haste);
  done(0, {});
  return 0;
}

void ManagedObjects::handle(Turn turn, ObjectAsk ask) {
  Head head(ask.body);
  if (head.op == ObjectOp::create)
    return create(turn, ask.who, ask.body, std::move(ask.kept));
  if (head.op != ObjectOp::destroy)
    return pass_on(turn, std::move(ask));
  forget_recipe(head.number);
  ask_host(
    host(), std::move(ask.body), {}, [](std::uint64_t, const auto&) {}, ask.haste);
}

void ManagedObjects::forget_recipe(std::uint64_t number) {
  decltype(recipes_)::node_type
    last; // Dropped without the lock, as handles send messages.
  std::lock_guard lock(mutex_);
  last = recipes_.extract(number);
}

void ManagedObjects::create(Turn turn, const Asker& who, const Payload& body,
                            detail::KeptObjects kept) {
  std::shared_ptr<ObjectHandle> handle, to;
  try {
    handle = space_->add(shared_from_this());
  } catch (const Closed&) {
    return space_->answer(who, {});
  }
  auto number = handle->held_id().number;
  auto recipe = recipe_of(number, ObjectOp::create, body);
  auto* maker = maker_of(recipe);
  {
    std::lock_guard lock(mutex_);
    makers_[number] = maker;
    to = host_;
    passed_on_[who] = {.host = host_count_, .turn = turn};
    if (restartable_)
      recipes_[number] = {++recipe_count_, recipe, kept};
  }
  ask_host(
    to, recipe, std::move(kept),
    [self = shared_from_this(), who, handle](std::uint64_t request, ObjectAnswer answer) {
      if (answer.what == Answer::unbegun) // The retry creates a new object.
        self->forget_recipe(handle->held_id().number);
      if (answer.what != Answer::done)
        return self->host_answered(who, request, std::move(answer));
      std::optional<PassedOn> last; // Dropped without the lock.
      {
        std::lock_guard lock(self->mutex_);
        last = self->take_passed_on_locked(who);
      }
      self->space_->answer(who,
                           {.what = Answer::value, .kept = detail::KeptObjects{handle}});
    });
}

void ManagedObjects::pass_on(Turn turn, ObjectAsk ask) {
  auto who = ask.who;
  PassedOn passed{.turn = turn};
  if (restartable_ && Head(ask.body).op == ObjectOp::repeat)
    passed.retry = ask;
  std::shared_ptr<ObjectHandle> to;
  std::uint64_t host = 0;
  {
    std::lock_guard lock(mutex_);
    if (state_ == State::waiting) { // The host was lost meanwhile.
      waiting_[turn].ask = std::move(ask);
      return;
    }
    to = host_;
    host = passed.host = host_count_;
    passed_on_[who] = std::move(passed);
  }
  auto request = ask_host(
    to, std::move(ask.body), std::move(ask.kept),
    [self = shared_from_this(), who](std::uint64_t of, ObjectAnswer answer) {
      self->host_answered(who, of, std::move(answer));
    },
    ask.haste);
  std::lock_guard lock(mutex_);
  if (auto known = passed_on_.find(who);
      known != passed_on_.end() && known->second.host == host)
    known->second.request = request;
}

std::optional<ManagedObjects::PassedOn>
ManagedObjects::take_passed_on_locked(const Asker& who) {
  auto known = passed_on_.extract(who);
  if (known.empty())
    return std::nullopt;
  return std::move(known.mapped());
}

void ManagedObjects::host_answered(const Asker& who, std::uint64_t request,
                                   ObjectAnswer answer) {
  auto unanswered = answer.what == Answer::closed || answer.what == Answer::unbegun;
  std::optional<PassedOn> passed;
  std::shared_ptr<ObjectHandle> from;
  std::unique_lock lock(mutex_);
  passed = take_passed_on_locked(who);
  if (!unanswered && !answer.kept.empty()) {
    from = host_;
    if (passed)
      answers_.keep(who, answer.kept);
  }
  lock.unlock();
  if (from)
    space_->tell(from->held_id(), request, AskKind::took);
  if (!unanswered)
    space_->answer(who, std::move(answer));
  else if (passed)
    host_left_unanswered(who, std::move(*passed), std::move(answer));
}

std::optional<ObjectAsk> ManagedObjects::ask_given_back(const Asker& who,
                                                        ObjectAnswer answer) const {
  try {
    Head head(answer.body);
    if (head.op == ObjectOp::create)
      return ObjectAsk{who, control_, AskKind::call,
                       recipe_of(0, ObjectOp::create, answer.body),
                       std::move(answer.kept)};
    return ObjectAsk{who, head.number, AskKind::call, std::move(answer.body),
                     std::move(answer.kept)};
  } catch (const Error&) {
    return std::nullopt;
  }
}

void ManagedObjects::host_left_unanswered(const Asker& who, PassedOn&& passed,
                                          ObjectAnswer answer) {
  auto& [request, host, turn, retry] = passed;
  auto begun = answer.what != Answer::unbegun;
  if (!begun)
    retry = ask_given_back(who, std::move(answer));
  std::unique_lock lock(mutex_);
  auto state = state_;
  auto now = host == host_count_ && (state == State::up || state == State::restoring);
  if (begun && now) { // The reason of the loss is not known yet.
    lost_[turn] = {who, std::move(retry)};
    return;
  }
  // A caller in the host itself must not wait: it would block the end of the host.
  auto refused =
    !begun && (is_from_host_locked(who) || (state == State::stopping && !restarting_));
  auto over = state == State::lost || state == State::ended;
  if (retry && !refused && !over && (state != State::up || now)) {
    waiting_[turn] = {std::move(*retry), begun};
    return;
  }
  lock.unlock();
  if (state == State::ended)
    return space_->answer(who, {});
  if (retry && state == State::up && !refused)
    return handle(turn, std::move(*retry));
  answer_lost(who);
}

void ManagedObjects::answer_lost(const Asker& who) {
  ObjectAnswer answer{.what = Answer::lost};
  {
    std::lock_guard lock(mutex_);
    answer.error = why_;
  }
  if (!answer.error)
    return space_->answer(who, {});
  if (who.process != space_->self()) {
    Bytes bytes;
    Writer writer(bytes);
    write(writer, for_another_process(answer.error));
    answer.body = Payload(std::move(bytes));
  }
  space_->answer(who, std::move(answer));
}

} // namespace fiber::actors
