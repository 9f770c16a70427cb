// SPDX-License-Identifier: Apache-2.0
#include "actors/managed_objects.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "actors/failure.hpp"
#include "actors/node_protocol.hpp"
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
    return {lost.what(), lost.exits().front(), lost.reason(), lost.last_log()};
  } catch (const std::exception& error) {
    return {error.what(), WorkerLost::exit_unknown, error.what(), {}};
  }
}

} // namespace

ManagedObjects::ManagedObjects(std::shared_ptr<ObjectSpace> space, bool again)
  : space_(std::move(space)), again_(again) {}

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
  std::lock_guard lock(mutex_);
  recipes_[number] = {recipe_of(number, ObjectOp::create, body), std::move(kept)};
  return handle;
}

void ManagedObjects::set_restore(AnyCallable restore) {
  std::lock_guard lock(mutex_);
  std::swap(restore_, restore);
}

// -- what is asked --

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
      if (!ask.kept.empty())
        ready(space_->handle(ask.kept.front()->held_id()));
      return space_->answer(ask.who, {.what = Answer::done});
    }
    auto may_be = is_control
                    ? head.op == ObjectOp::create && ask.who.process == space_->self()
                    : head.op == ObjectOp::call && head.number == ask.number;
    if (!may_be)
      return space_->refuse(ask.who, "the object can't do that");
  } catch (const std::exception& error) {
    return space_->refuse(ask.who, error.what());
  }
  {
    std::unique_lock lock(mutex_);
    auto from_host = host_ && ask.who.process == host_->held_id().home &&
                     ask.who.process != space_->self();
    auto waits = state_ == State::restoring || state_ == State::stopping;
    if (state_ == State::waiting || (waits && !from_host)) {
      waiting_.push_back(std::move(ask));
      return;
    }
    auto state = state_;
    lock.unlock();
    if (state == State::lost)
      return answer_lost(ask.who);
    if (state == State::ended || state == State::stopping)
      return space_->answer(ask.who, {});
  }
  handle(std::move(ask));
}

void ManagedObjects::freed(std::uint64_t number) {
  ObjectAsk destruction{
    nobody, number,     AskKind::call, Payload(head_of(number, ObjectOp::destroy)),
    {},     Haste::soon};
  {
    std::lock_guard lock(mutex_);
    if (number == control_ || state_ == State::lost || state_ == State::ended)
      return;
    if (state_ != State::up) { // Behind the calls that wait.
      waiting_.push_back(std::move(destruction));
      return;
    }
  }
  handle(std::move(destruction));
}

void ManagedObjects::gone(std::uint64_t process) {
  std::vector<ObjectAsk> asks; // The ends of handles send messages.
  std::vector<detail::KeptObjects> last;
  std::lock_guard lock(mutex_);
  std::erase_if(waiting_, [&](auto& ask) {
    if (ask.who.process != process)
      return false;
    asks.push_back(std::move(ask));
    return true;
  });
  std::erase_if(lost_, [&](auto& who) { return who.process == process; });
  std::erase_if(passed_on_, [&](auto& each) { return each.first.process == process; });
  last = answers_.gone(process);
}

void ManagedObjects::cancel(const Asker& who) {
  std::uint64_t request = 0;
  std::shared_ptr<ObjectHandle> host;
  {
    ObjectAsk last;
    std::unique_lock lock(mutex_);
    auto at = std::find_if(waiting_.begin(), waiting_.end(),
                           [&](auto& ask) { return ask.who == who; });
    if (at != waiting_.end()) {
      last = std::move(*at);
      waiting_.erase(at);
      lock.unlock();
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

std::uint64_t ManagedObjects::ask_host(Payload body, detail::KeptObjects kept,
                                       ObjectSpace::Done done, Haste haste) {
  std::shared_ptr<ObjectHandle> host;
  {
    std::lock_guard lock(mutex_);
    host = host_;
  }
  if (host)
    return space_->ask(host->held_id(), AskKind::call, std::move(body), std::move(kept),
                       std::move(done), haste);
  done(0, {});
  return 0;
}

void ManagedObjects::handle(ObjectAsk ask) {
  Head head(ask.body);
  if (head.op == ObjectOp::create)
    return create(ask.who, ask.body, std::move(ask.kept));
  if (head.op != ObjectOp::destroy)
    return pass_on(std::move(ask));
  {
    Recipe last;
    std::lock_guard lock(mutex_);
    if (auto known = recipes_.find(head.number); known != recipes_.end()) {
      last = std::move(known->second);
      recipes_.erase(known);
    }
  }
  ask_host(
    std::move(ask.body), {}, [](std::uint64_t, const auto&) {}, ask.haste);
}

void ManagedObjects::create(const Asker& who, const Payload& body,
                            detail::KeptObjects kept) {
  std::shared_ptr<ObjectHandle> handle;
  try {
    handle = space_->add(shared_from_this());
  } catch (const Closed&) {
    return space_->answer(who, {});
  }
  auto number = handle->held_id().number;
  auto recipe = recipe_of(number, ObjectOp::create, body);
  std::uint64_t host = 0;
  {
    std::lock_guard lock(mutex_);
    host = hosts_;
    if (again_)
      recipes_[number] = {recipe, kept};
  }
  ask_host(recipe, std::move(kept),
           [self = shared_from_this(), who, host, handle](std::uint64_t request,
                                                          ObjectAnswer answer) {
             if (answer.what == Answer::done)
               self->space_->answer(
                 who, {.what = Answer::value, .kept = detail::KeptObjects{handle}});
             else
               self->answered(who, host, request, std::move(answer));
           });
}

void ManagedObjects::pass_on(ObjectAsk ask) {
  auto who = ask.who;
  std::uint64_t host = 0;
  {
    std::lock_guard lock(mutex_);
    host = hosts_;
    passed_on_[who] = {0, host};
  }
  auto request = ask_host(
    std::move(ask.body), std::move(ask.kept),
    [self = shared_from_this(), who, host](std::uint64_t of, ObjectAnswer answer) {
      self->answered(who, host, of, std::move(answer));
    },
    ask.haste);
  std::lock_guard lock(mutex_);
  if (auto known = passed_on_.find(who); known != passed_on_.end())
    known->second.request = request;
}

void ManagedObjects::answered(const Asker& who, std::uint64_t host, std::uint64_t request,
                              ObjectAnswer answer) {
  std::shared_ptr<ObjectHandle> from;
  auto state = State::up;
  {
    std::lock_guard lock(mutex_);
    auto awaited = passed_on_.erase(who) > 0; // Else its process is gone.
    state = state_;
    from = host_;
    auto now = state == State::up || state == State::restoring;
    if (answer.what == Answer::closed && host == hosts_ && now) {
      lost_.insert(who); // How it was lost is not known yet.
      return;
    }
    if (awaited)
      answers_.keep(who, answer.kept);
  }
  if (answer.what == Answer::closed && state != State::ended)
    return answer_lost(who);
  if (!answer.kept.empty() && from)
    space_->tell(from->held_id(), request, AskKind::took);
  space_->answer(who, std::move(answer));
}

void ManagedObjects::answer_lost(const Asker& who) {
  ObjectAnswer answer{.what = Answer::lost};
  {
    std::lock_guard lock(mutex_);
    answer.error = why_;
  }
  if (who.process != space_->self()) {
    Bytes bytes;
    Writer writer(bytes);
    write(writer, for_another_process(answer.error));
    answer.body = Payload(std::move(bytes));
  }
  space_->answer(who, std::move(answer));
}

} // namespace fiber::actors
